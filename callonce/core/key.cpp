#include <algorithm>
#include <optional>

#include <callonce/core/key.hpp>

#include "callonce/core/structured_field.hpp"

namespace callonce {
namespace {

// No space, comma, semicolon or quote: an intermediary may fold two lines into `a,b`, and `;` could
// open a parameter.
bool is_bare(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view{"-_.~:+/="}.find(c) != std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::string_view to_string(key_fault fault) noexcept {
  switch (fault) {
    case key_fault::malformed:
      return "malformed";
    case key_fault::empty:
      return "empty";
    case key_fault::too_long:
      return "too_long";
    case key_fault::repeated:
      return "repeated";
    case key_fault::format:
      return "format";
    case key_fault::first_sent:
      return "first_sent";
  }
  return "malformed";
}

std::variant<key, key_fault> parse_key(std::string_view field_value, key_syntax syntax) {
  const std::string_view text = trim(field_value);
  if (text.empty()) return key_fault::empty;

  std::optional<std::string> value;
  if (text.front() == '"') {
    value = detail::parse_string_item(text);
  } else if (syntax == key_syntax::automatic && std::all_of(text.begin(), text.end(), is_bare)) {
    value = std::string{text};
  }
  if (!value) return key_fault::malformed;
  if (trim(*value).empty()) return key_fault::empty;
  if (value->size() > key::bytes_max) return key_fault::too_long;
  return key{std::move(*value)};
}

}  // namespace callonce
