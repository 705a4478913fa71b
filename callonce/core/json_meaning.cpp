#include "callonce/core/json_meaning.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>

namespace callonce::detail {
namespace {

namespace json = boost::json;
using json::error_code;
using json::string_view;

// Each kind of value begins with a letter of its own and says where it ends, so that no two
// meanings give the same bytes.
std::string text_value(std::string_view text) {
  std::string made = "s" + std::to_string(text.size());
  made += ':';
  return made.append(text);
}

// The parser takes no exponent beyond 32 bits; this leaves room for the digits moved into it.
constexpr std::size_t exponent_digits_max = 17;

std::optional<std::int64_t> exponent_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  if (text.size() > exponent_digits_max) return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : text) value = value * 10 + (digit - '0');
  return negative ? -value : value;
}

// Sign, digits without zeros at either end, and the power of ten behind them.
std::optional<std::string> number_value(std::string_view text) {
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::string_view mantissa = text.substr(0, mark);
  const std::optional<std::int64_t> exponent =
      mark == text.size() ? 0 : exponent_in(text.substr(mark + 1));
  if (!exponent) return std::nullopt;
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.remove_prefix(1);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits{mantissa.substr(0, point)};
  std::int64_t power = *exponent;
  if (point != mantissa.size()) {
    const std::string_view fraction = mantissa.substr(point + 1);
    digits += fraction;
    power -= static_cast<std::int64_t>(fraction.size());
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "d0;";
  const std::size_t last = digits.find_last_not_of('0');
  power += static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  return (negative ? "d-" : "d") + digits + "e" + std::to_string(power) + ";";
}

using path = std::vector<std::string>;

path components_of(std::string_view field) {
  path made;
  for (;;) {
    const std::size_t dot = field.find('.');
    made.emplace_back(field.substr(0, dot));
    if (dot == std::string_view::npos) return made;
    field.remove_prefix(dot + 1);
  }
}

struct chosen_field {
  explicit chosen_field(const std::string& field) : name(field), at(components_of(field)) {}
  std::string name;
  path at;
  std::optional<std::string> value;
};

// What the parser tells, put together from the leaves up.
class builder {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit builder(std::vector<chosen_field>* wanted) : wanted_(wanted) {}

  const std::string& whole() const noexcept { return whole_; }
  bool is_object() const noexcept { return whole_.starts_with('{'); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open_.emplace_back(true);
    return true;
  }
  bool on_object_end(std::size_t, error_code& fault) {
    std::vector<member> members = std::move(open_.back().members);
    open_.pop_back();
    std::sort(members.begin(), members.end());
    std::string made = "{";
    for (std::size_t i = 0; i < members.size(); ++i) {
      // Which of two equal names counts is read differently elsewhere.
      if (i > 0 && members[i].first == members[i - 1].first) return refuse(fault);
      made.append(text_value(members[i].first)).append(members[i].second);
    }
    return take(made + "}");
  }
  bool on_array_begin(error_code&) {
    open_.emplace_back(false);
    return true;
  }
  bool on_array_end(std::size_t, error_code&) {
    std::string items = std::move(open_.back().items);
    open_.pop_back();
    return take("[" + items + "]");
  }
  bool on_key_part(string_view part, std::size_t, error_code&) { return gather(part); }
  bool on_key(string_view part, std::size_t, error_code&) {
    gather(part);
    open_.back().key = std::exchange(gathered_, {});
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) { return gather(part); }
  bool on_string(string_view part, std::size_t, error_code&) {
    gather(part);
    return take(text_value(std::exchange(gathered_, {})));
  }
  bool on_number_part(string_view part, error_code&) { return gather(part); }
  bool on_int64(std::int64_t, string_view part, error_code& fault) { return number(part, fault); }
  bool on_uint64(std::uint64_t, string_view part, error_code& fault) { return number(part, fault); }
  bool on_double(double, string_view part, error_code& fault) { return number(part, fault); }
  bool on_bool(bool value, error_code&) { return take(value ? "t" : "f"); }
  bool on_null(error_code&) { return take("n"); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  using member = std::pair<std::string, std::string>;
  struct level {
    explicit level(bool object) : is_object(object) {}
    bool is_object;
    std::string key;  // of the member that is being read
    std::vector<member> members;
    std::string items;
  };

  static bool refuse(error_code& fault) {
    fault = json::error::syntax;
    return false;
  }

  bool gather(string_view part) {
    gathered_.append(part.data(), part.size());
    return true;
  }

  bool number(string_view part, error_code& fault) {
    gather(part);
    const std::optional<std::string> value = number_value(std::exchange(gathered_, {}));
    return value ? take(*value) : refuse(fault);
  }

  bool take(std::string value) {
    if (wanted_ != nullptr) choose(value);
    if (open_.empty()) {
      whole_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items += value;
    }
    return true;
  }

  void choose(const std::string& value) {
    for (chosen_field& each : *wanted_) {
      if (each.at.size() != open_.size()) continue;
      const bool here = std::equal(
          open_.begin(), open_.end(), each.at.begin(),
          [](const level& at, const std::string& name) { return at.is_object && at.key == name; });
      if (here) each.value = value;
    }
  }

  std::vector<chosen_field>* wanted_;
  std::vector<level> open_;
  std::string gathered_;
  std::string whole_;
};

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The builder after a whole text, or nothing.
std::optional<builder> read(std::string_view text, std::vector<chosen_field>* wanted) {
  constexpr std::size_t depth_max = 64;
  if (text.size() > json_bytes_max) return std::nullopt;
  json::parse_options as;
  as.max_depth = depth_max;
  json::basic_parser<builder> parser{as, wanted};
  error_code fault;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), fault);
  if (fault || !parser.done() || !is_blank(text.substr(used))) return std::nullopt;
  return std::move(parser.handler());
}

}  // namespace

std::optional<std::string> json_meaning(std::string_view text) {
  const std::optional<builder> done = read(text, nullptr);
  if (!done) return std::nullopt;
  return done->whole();
}

std::optional<std::string> json_meaning(std::string_view text,
                                        std::span<const std::string> fields) {
  std::vector<std::string> names{fields.begin(), fields.end()};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<chosen_field> wanted{names.begin(), names.end()};
  const std::optional<builder> done = read(text, &wanted);
  if (!done || !done->is_object()) return std::nullopt;
  std::string made;
  for (const chosen_field& each : wanted) {
    made += text_value(each.name);
    made += each.value ? "p" + *each.value : "a";
  }
  return made;
}

}  // namespace callonce::detail
