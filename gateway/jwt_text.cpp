#include <cstdint>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <gateway/jwt_text.hpp>

namespace callonce::gateway {
namespace {

namespace json = boost::json;

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  if (c == '_') return 63;
  return -1;
}

// Counts the members of the outermost object as they are written: json::object keeps one of two.
class member_counter {
 public:
  using fault = json::error_code;
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  std::size_t members() const noexcept { return members_; }

  bool on_document_begin(fault&) { return true; }
  bool on_document_end(fault&) { return true; }
  bool on_array_begin(fault&) { return true; }
  bool on_array_end(std::size_t, fault&) { return true; }
  bool on_object_begin(fault&) { return true; }
  bool on_object_end(std::size_t count, fault&) {
    members_ = count;  // The outermost one ends last.
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, fault&) { return true; }
  bool on_string(json::string_view, std::size_t, fault&) { return true; }
  bool on_key_part(json::string_view, std::size_t, fault&) { return true; }
  bool on_key(json::string_view, std::size_t, fault&) { return true; }
  bool on_number_part(json::string_view, fault&) { return true; }
  bool on_int64(std::int64_t, json::string_view, fault&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, fault&) { return true; }
  bool on_double(double, json::string_view, fault&) { return true; }
  bool on_bool(bool, fault&) { return true; }
  bool on_null(fault&) { return true; }
  bool on_comment_part(json::string_view, fault&) { return true; }
  bool on_comment(json::string_view, fault&) { return true; }

 private:
  std::size_t members_ = 0;
};

}  // namespace

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  unsigned held_bits = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return std::nullopt;
    held = held << 6U | static_cast<std::uint32_t>(value);
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    bytes += static_cast<char>(held >> held_bits & 0xffU);
    held &= (1U << held_bits) - 1;
  }
  if (held_bits == 6 || held != 0) return std::nullopt;
  return bytes;
}

std::optional<json::object> parse_object(std::string_view text) {
  json::error_code fault;
  json::value value = json::parse(text, fault);
  if (fault || !value.is_object()) return std::nullopt;
  json::basic_parser<member_counter> counting{json::parse_options{}};
  counting.write_some(false, text.data(), text.size(), fault);
  json::object& object = value.get_object();
  if (fault || counting.handler().members() != object.size()) return std::nullopt;
  return std::move(object);
}

}  // namespace callonce::gateway
