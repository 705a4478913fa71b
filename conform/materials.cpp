#include <ctime>

#include <conform/materials.hpp>
#include <zlib.h>

namespace conform {

std::string gzip(std::string plain, int level) {
  constexpr int gzip_wrapper = 15 + 16;
  constexpr int default_memory = 8;
  z_stream stream{};
  ::deflateInit2(&stream, level, Z_DEFLATED, gzip_wrapper, default_memory, Z_DEFAULT_STRATEGY);
  std::string made(::deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  ::deflate(&stream, Z_FINISH);
  made.resize(stream.total_out);
  ::deflateEnd(&stream);
  return made;
}

std::string fixdate(std::chrono::seconds from_now) {
  const auto at = std::chrono::system_clock::now() + from_now;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace conform
