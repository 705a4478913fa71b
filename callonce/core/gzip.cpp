#include "callonce/core/gzip.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <zlib.h>

namespace callonce::detail {
namespace {

// 15 bits of window, and 16 to say: a gzip wrapper and nothing else.
constexpr int gzip_only = 15 + 16;

class inflater {
 public:
  explicit inflater(std::span<const std::byte> coded) : rest_(coded) {
    good_ = ::inflateInit2(&stream_, gzip_only) == Z_OK;
  }
  ~inflater() { ::inflateEnd(&stream_); }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  std::optional<std::string> all(std::uint64_t bytes_max) {
    std::string made;
    std::array<char, std::size_t{16} << 10> piece;
    while (good_) {
      if (stream_.avail_in == 0 && !feed()) return std::nullopt;
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      const int said = ::inflate(&stream_, Z_NO_FLUSH);
      made.append(piece.data(), piece.size() - stream_.avail_out);
      if (made.size() > bytes_max) return std::nullopt;
      if (said == Z_STREAM_END) {
        if (stream_.avail_in == 0 && rest_.empty()) return made;
        good_ = ::inflateReset(&stream_) == Z_OK;
      } else if (said != Z_OK) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  // Post: false when the input has ended inside a member.
  bool feed() {
    const std::size_t size = std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    // zlib reads through a pointer to non-const that it never writes to.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(size);
    rest_ = rest_.subspan(size);
    return size != 0;
  }

  std::span<const std::byte> rest_;
  z_stream stream_{};
  bool good_ = false;
};

}  // namespace

std::optional<std::string> gunzip(std::span<const std::byte> coded, std::uint64_t bytes_max) {
  return inflater{coded}.all(bytes_max);
}

}  // namespace callonce::detail
