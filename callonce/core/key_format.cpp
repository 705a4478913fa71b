#include <algorithm>
#include <array>
#include <charconv>

#include <callonce/core/key_format.hpp>

namespace callonce {
namespace {

using std::chrono::milliseconds;

std::optional<std::uint64_t> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<std::uint64_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint64_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<std::uint64_t>(c - 'A') + 10;
  return std::nullopt;
}

bool is_uuid(std::string_view key) noexcept {
  constexpr std::size_t length = 36;
  if (key.size() != length) return false;
  bool nil = true;
  for (std::size_t at = 0; at < length; ++at) {
    const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
    if (hyphen ? key[at] != '-' : !hex_digit(key[at])) return false;
    nil = nil && (hyphen || key[at] == '0');
  }
  return !nil;
}

// The variant of RFC 9562 is two bits `10`.
bool is_uuid_of(std::string_view key, char version) noexcept {
  constexpr std::string_view variants = "89abAB";
  return is_uuid(key) && key[14] == version && variants.find(key[19]) != std::string_view::npos;
}

// Crockford's base 32, without I, L, O and U.
std::optional<std::uint64_t> ulid_digit(char c) noexcept {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::size_t found = digits.find(upper);
  if (found == std::string_view::npos) return std::nullopt;
  return found;
}

bool is_ulid(std::string_view key) noexcept {
  // 26 letters of 5 bits hold 130; the first may only use 3, for 128 in all.
  return key.size() == 26 && key.front() >= '0' && key.front() <= '7' &&
         std::all_of(key.begin(), key.end(), [](char c) { return ulid_digit(c).has_value(); });
}

wall_time since_1970(std::uint64_t count) noexcept {
  return wall_time{milliseconds{static_cast<std::int64_t>(count)}};
}

std::optional<unsigned> number(std::string_view digits) noexcept {
  unsigned value = 0;
  const char* const last = digits.data() + digits.size();
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  const auto [end, fault] = std::from_chars(digits.data(), last, value);
  if (fault != std::errc{} || end != last) return std::nullopt;
  return value;
}

constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

bool has_format(std::string_view key, key_format format) noexcept {
  switch (format) {
    case key_format::any:
      return true;
    case key_format::uuid:
      return is_uuid(key);
    case key_format::uuidv4:
      return is_uuid_of(key, '4');
    case key_format::uuidv7:
      return is_uuid_of(key, '7');
    case key_format::ulid:
      return is_ulid(key);
  }
  return false;
}

std::optional<wall_time> creation_of(std::string_view key, key_time by) noexcept {
  std::uint64_t count = 0;
  if (by == key_time::uuidv7 && has_format(key, key_format::uuidv7)) {
    for (const char c : key.substr(0, 13)) {
      if (c != '-') count = count * 16 + hex_digit(c).value_or(0);
    }
    return since_1970(count);
  }
  if (by == key_time::ulid && is_ulid(key)) {
    for (const char c : key.substr(0, 10)) count = count * 32 + ulid_digit(c).value_or(0);
    return since_1970(count);
  }
  return std::nullopt;
}

std::optional<wall_time> parse_fixdate(std::string_view text) noexcept {
  constexpr std::string_view form = "Ddd, 00 Mmm 0000 00:00:00 GMT";
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const bool fixed = at == 3 || at == 4 || at == 7 || at == 11 || at == 16 || at >= 25;
    if ((fixed || form[at] == ':') && text[at] != form[at]) return std::nullopt;
  }
  const auto day = number(text.substr(5, 2));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  if (!day || !year || !hour || !minute || !second || month == months.end()) return std::nullopt;
  // A leap second is sent as 60.
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto month_number = static_cast<unsigned>(month - months.begin()) + 1;
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)},
                                         std::chrono::month{month_number}, std::chrono::day{*day}};
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_days midnight{date};
  if (days[std::chrono::weekday{midnight}.c_encoding()] != text.substr(0, 3)) return std::nullopt;
  return midnight + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
         std::chrono::seconds{*second};
}

}  // namespace callonce
