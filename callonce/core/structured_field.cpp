#include "callonce/core/structured_field.hpp"

#include <cstddef>

namespace callonce::detail {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_alpha(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_visible(char c) {
  return c >= 0x20 && c <= 0x7e;
}
bool is_token(char c) {
  return is_alpha(c) || is_digit(c) ||
         std::string_view{"!#$%&'*+-.^_`|~:/"}.find(c) != std::string_view::npos;
}
bool is_lower_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}
bool is_base64(char c) {
  return is_alpha(c) || is_digit(c) || c == '+' || c == '/' || c == '=';
}

// A cursor over the field value; each function consumes what it accepts and says whether it did.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }

  bool take(char expected) {
    if (at_end() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }

  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string value;
    while (!at_end()) {
      char c = text_[at_++];
      if (c == '"') return value;
      if (c == '\\') {
        if (at_end()) return std::nullopt;
        c = text_[at_++];
        if (c != '"' && c != '\\') return std::nullopt;
      } else if (!is_visible(c)) {
        return std::nullopt;
      }
      value += c;
    }
    return std::nullopt;
  }

  bool parameters() {
    while (take(';')) {
      skip([](char c) { return c == ' '; });
      if (at_end() || !(is_lower(text_[at_]) || text_[at_] == '*')) return false;
      skip([](char c) {
        return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*';
      });
      if (take('=') && !bare_item()) return false;
    }
    return true;
  }

 private:
  template <class Predicate>
  std::size_t skip(Predicate accepted) {
    const std::size_t start = at_;
    while (!at_end() && accepted(text_[at_])) ++at_;
    return at_ - start;
  }

  bool bare_item() {
    if (at_end()) return false;
    const char first = text_[at_];
    if (first == '"') return string().has_value();
    if (first == '-' || is_digit(first)) return number();
    if (first == '?') return ++at_, take('0') || take('1');
    if (first == '@') return ++at_, number(/*decimals_allowed=*/false);
    if (first == '%') return ++at_, display_string();
    if (first == ':') {
      ++at_;
      skip(is_base64);
      return take(':');
    }
    return (is_alpha(first) || first == '*') && skip(is_token) > 0;
  }

  // Unlike a String it escapes with `%` and two lower-case digits, and `\` is an ordinary
  // character.
  bool display_string() {
    if (!take('"')) return false;
    while (!at_end()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (!is_visible(c)) return false;
      if (c != '%') continue;
      if (text_.size() - at_ < 2 || !is_lower_hex(text_[at_]) || !is_lower_hex(text_[at_ + 1])) {
        return false;
      }
      at_ += 2;
    }
    return false;
  }

  // At most 15 digits, or 12 and 3 behind the point.
  bool number(bool decimals_allowed = true) {
    take('-');
    const std::size_t whole = skip(is_digit);
    if (whole == 0 || whole > 15) return false;
    if (!decimals_allowed || !take('.')) return true;
    const std::size_t fraction = skip(is_digit);
    return whole <= 12 && fraction >= 1 && fraction <= 3;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> parse_string_item(std::string_view text) {
  reader in{text};
  std::optional<std::string> value = in.string();
  if (!value || !in.parameters() || !in.at_end()) return std::nullopt;
  return value;
}

}  // namespace callonce::detail
