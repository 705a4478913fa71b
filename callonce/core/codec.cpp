#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <zstd.h>

#include <callonce/core/codec.hpp>
#include <callonce/core/replay.hpp>

namespace callonce {
namespace {

// Head: version, checksum over the rest, then the rest. Numbers are little-endian. Version 1 had
// neither body coding nor trailers.
constexpr char oldest_version = 1;
constexpr char version = 2;
constexpr std::size_t checksum_bytes = 8;

std::array<char, checksum_bytes> checksum(std::string_view bytes) {
  const digest whole = hasher{}.part(bytes).finish();
  std::array<char, checksum_bytes> made{};
  std::memcpy(made.data(), whole.data(), made.size());
  return made;
}

void put_number(std::string& into, std::uint64_t value, std::size_t width) {
  for (std::size_t at = 0; at < width; ++at) into += static_cast<char>(value >> (8 * at));
}

void put_text(std::string& into, std::string_view text) {
  put_number(into, text.size(), 4);
  into += text;
}

// Takes pieces off the front; after a piece that is not there, everything reads as empty and `good`
// is false.
class reader {
 public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const std::string_view taken = bytes(width);
    for (std::size_t at = 0; at < taken.size(); ++at) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[at])) << (8 * at);
    }
    return value;
  }

  std::string_view text() { return bytes(number(4)); }

  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void put_lines(std::string& into, const header_list& lines) {
  put_number(into, lines.size(), 4);
  for (const field& line : lines) {
    put_text(into, line.name);
    put_text(into, line.value);
  }
}

header_list take_lines(reader& in) {
  header_list lines;
  for (std::uint64_t left = in.number(4); left > 0 && in.good(); --left) {
    std::string name{in.text()};
    lines.add(std::move(name), std::string{in.text()});
  }
  return lines;
}

// `size` is proved by the head's checksum, so no stranger's number decides how much is taken.
std::optional<std::string> decompress(std::string_view bytes, std::uint64_t size) {
  std::string whole(size, '\0');
  const std::size_t got = ZSTD_decompress(whole.data(), whole.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) return std::nullopt;
  return whole;
}

bool is_token(std::string_view name) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const auto fits = [&](char each) {
    return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z') ||
           (each >= 'a' && each <= 'z') || marks.find(each) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

// A line break in a value would be the beginning of another field.
bool is_field_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte < 0x20 && each != '\t') || byte == 0x7F;
  });
}

std::optional<header_list> lines_of_json(std::string_view text) {
  boost::system::error_code fault;
  boost::json::parse_options bytes_are_opaque;
  bytes_are_opaque.allow_invalid_utf8 = true;
  const boost::json::value whole = boost::json::parse(text, fault, {}, bytes_are_opaque);
  if (fault || !whole.is_array()) return std::nullopt;
  header_list lines;
  for (const boost::json::value& each : whole.get_array()) {
    const boost::json::array* pair = each.if_array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    const boost::json::string* name = (*pair)[0].if_string();
    const boost::json::string* value = (*pair)[1].if_string();
    if (name == nullptr || value == nullptr) return std::nullopt;
    if (!is_token({name->data(), name->size()})) return std::nullopt;
    if (!is_field_value({value->data(), value->size()})) return std::nullopt;
    lines.add(std::string{name->data(), name->size()}, std::string{value->data(), value->size()});
  }
  return lines;
}

bool same(std::string_view stored, const std::array<char, checksum_bytes>& computed) {
  return stored == std::string_view{computed.data(), computed.size()};
}

}  // namespace

std::optional<std::string> compress_body(const stored_answer& answer) {
  // Below this a row hardly gets smaller, and a page is a page.
  constexpr std::size_t worth_trying = 1024;
  // The fastest level: the lane compresses while its batch waits.
  constexpr int level = 1;
  const std::string_view plain = answer.body.text();
  if (plain.size() < worth_trying) return std::nullopt;
  if (answer.headers.find("Content-Encoding") != nullptr) return std::nullopt;
  // A context is dearer to make than most bodies are to compress.
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(),
                                                                                  &ZSTD_freeCCtx};
  if (context == nullptr) return std::nullopt;
  std::string made(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t got =
      ZSTD_compressCCtx(context.get(), made.data(), made.size(), plain.data(), plain.size(), level);
  if (ZSTD_isError(got) != 0 || got > plain.size() - plain.size() / 8) return std::nullopt;
  made.resize(got);
  return made;
}

std::string encode_head(const stored_answer& answer, body_coding coding) {
  std::string rest;
  put_number(rest, static_cast<std::uint64_t>(answer.status), 2);
  put_number(rest, static_cast<std::uint64_t>(answer.omitted), 1);
  put_number(rest, answer.body.size(), 8);
  rest.append(checksum(answer.body.text()).data(), checksum_bytes);
  put_text(rest, answer.resource);
  put_lines(rest, answer.headers);
  put_number(rest, static_cast<std::uint64_t>(coding), 1);
  put_lines(rest, answer.trailers);
  std::string head{version};
  head.append(checksum(rest).data(), checksum_bytes);
  return head + rest;
}

result<stored_answer> decode_answer(std::string_view head, std::optional<std::string_view> body) {
  if (head.size() < 1 + checksum_bytes) return errc::corrupt;
  const char written = head.front();
  if (written < oldest_version || written > version) return errc::corrupt;
  const std::string_view rest = head.substr(1 + checksum_bytes);
  if (!same(head.substr(1, checksum_bytes), checksum(rest))) return errc::corrupt;

  reader in{rest};
  stored_answer answer;
  answer.status = static_cast<int>(in.number(2));
  answer.omitted = static_cast<body_omitted>(in.number(1));
  const std::uint64_t body_size = in.number(8);
  const std::string_view body_checksum = in.bytes(checksum_bytes);
  answer.resource = in.text();
  answer.headers = take_lines(in);
  auto coding = body_coding::plain;
  if (written != oldest_version) {
    coding = static_cast<body_coding>(in.number(1));
    answer.trailers = take_lines(in);
  }
  if (!in.at_end()) return errc::corrupt;

  if (!body) {
    if (body_size > 0) answer.omitted = body_omitted::expired;
    return answer;
  }
  std::optional<std::string> whole;
  if (coding == body_coding::zstd) {
    whole = decompress(*body, body_size);
  } else if (coding == body_coding::plain && body->size() == body_size) {
    whole.emplace(*body);
  }
  if (!whole || !same(body_checksum, checksum(*whole))) return errc::corrupt;
  answer.body = body_bytes{*std::move(whole)};
  return answer;
}

result<stored_answer> decode_plain_answer(int status, std::string_view headers,
                                          std::optional<std::string_view> body,
                                          body_omitted omitted) {
  const std::optional<header_list> lines = lines_of_json(headers);
  if (!lines || status < 200 || status > 599) return errc::corrupt;
  const response whole{status, *lines, body_bytes{std::string{body.value_or("")}}};
  stored_answer answer = freeze(whole, {}, std::numeric_limits<std::uint64_t>::max());
  answer.omitted = !body && omitted == body_omitted::none ? body_omitted::expired : omitted;
  return answer;
}

}  // namespace callonce
