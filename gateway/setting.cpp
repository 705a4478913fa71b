#include <algorithm>

#include <gateway/setting.hpp>
#include <gateway/units.hpp>

namespace callonce::gateway {
namespace {

std::string shown(const setting_value& value) {
  struct visitor {
    std::string operator()(const std::string& text) const { return in_quotes(text); }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const std::vector<std::string>&) const { return "a list"; }
    std::string operator()(const std::vector<std::pair<std::string, std::string>>&) const {
      return "a table";
    }
  };
  return std::visit(visitor{}, value);
}

std::string range(const std::string& min, const std::string& max) {
  return min + " to " + max;
}

}  // namespace

std::string setting::full_name() const {
  return section.empty() ? std::string{key} : std::string{section}.append(".").append(key);
}

std::string in_quotes(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made.append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte == 0x7f) {
      made.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    } else {
      made += c;
    }
  }
  return made += '"';
}

const std::string* as_text(const setting_value& value) {
  return std::get_if<std::string>(&value);
}

std::string default_text(const setting& of) {
  if (of.section == "route") return {};
  configuration whole;
  return of.show(place{whole, whole.defaults});
}

setting custom_setting(setting_name name, std::string type, std::string rule,
                       std::function<std::string(place, const setting_value&)> set,
                       std::function<std::string(place)> show) {
  return {name.section, name.key,       std::move(type), std::move(rule),
          name.help,    std::move(set), std::move(show)};
}

setting duration_setting(setting_name name, member<std::chrono::milliseconds> at,
                         std::chrono::milliseconds min, std::chrono::milliseconds max) {
  const std::string rule = range(to_text(min), to_text(max));
  const auto set = [at, min, max, rule](place in, const setting_value& given) -> std::string {
    const std::string* text = as_text(given);
    const auto length = text ? parse_duration(*text) : std::nullopt;
    if (!length) {
      return shown(given) +
             " is no duration: write a number and its unit in quotes, e.g. \"250ms\", \"5s\", "
             "\"1m\", \"24h\" or \"7d\"";
    }
    if (*length < min) return *text + " is too short: use " + rule;
    if (*length > max) return *text + " is too long: use " + rule;
    at(in) = *length;
    return {};
  };
  const auto show = [at](place in) { return in_quotes(to_text(at(in))); };
  return custom_setting(name, "duration", rule, set, show);
}

setting size_setting(setting_name name, member<std::uint64_t> at, std::uint64_t min,
                     std::uint64_t max) {
  const std::string rule = range(size_text(min), size_text(max));
  const auto set = [at, min, max, rule](place in, const setting_value& given) -> std::string {
    const std::string* text = as_text(given);
    const auto bytes = text ? parse_size(*text) : std::nullopt;
    if (!bytes) {
      return shown(given) +
             " is no size: write a number and its unit in quotes, e.g. \"512B\", \"32KiB\" or "
             "\"64MiB\"";
    }
    if (*bytes < min) return *text + " is too small: use " + rule;
    if (*bytes > max) return *text + " is too large: use " + rule;
    at(in) = *bytes;
    return {};
  };
  const auto show = [at](place in) { return in_quotes(size_text(at(in))); };
  return custom_setting(name, "size", rule, set, show);
}

setting count_setting(setting_name name, member<std::uint64_t> at, std::uint64_t min,
                      std::uint64_t max) {
  const std::string rule = range(std::to_string(min), std::to_string(max));
  const auto set = [at, min, max, rule](place in, const setting_value& given) -> std::string {
    const auto* number = std::get_if<std::int64_t>(&given);
    if (number == nullptr || *number < 0 || static_cast<std::uint64_t>(*number) < min ||
        static_cast<std::uint64_t>(*number) > max) {
      return shown(given) + " is not taken: use a whole number from " + rule;
    }
    at(in) = static_cast<std::uint64_t>(*number);
    return {};
  };
  const auto show = [at](place in) { return std::to_string(at(in)); };
  return custom_setting(name, "number", rule, set, show);
}

setting boolean_setting(setting_name name, member<bool> at) {
  const auto set = [at](place in, const setting_value& given) -> std::string {
    const bool* truth = std::get_if<bool>(&given);
    if (truth == nullptr) return shown(given) + " is not taken: use true or false, without quotes";
    at(in) = *truth;
    return {};
  };
  const auto show = [at](place in) { return at(in) ? "true" : "false"; };
  return custom_setting(name, "true or false", "", set, show);
}

setting text_setting(setting_name name, member<std::string> at, std::string rule,
                     std::string (*check)(const std::string&)) {
  const auto set = [at, check](place in, const setting_value& given) -> std::string {
    const std::string* text = as_text(given);
    if (text == nullptr) return shown(given) + " is no text: write it in quotes";
    if (std::string wrong = check(*text); !wrong.empty()) return wrong;
    at(in) = *text;
    return {};
  };
  const auto show = [at](place in) { return in_quotes(at(in)); };
  return custom_setting(name, "text", std::move(rule), set, show);
}

setting list_setting(setting_name name, member<std::vector<std::string>> at, std::string rule,
                     std::string (*check)(const std::vector<std::string>&)) {
  const auto set = [at, check](place in, const setting_value& given) -> std::string {
    const auto* items = std::get_if<std::vector<std::string>>(&given);
    if (items == nullptr) {
      return shown(given) + " is no list: write texts in brackets, e.g. [\"A\", \"B\"]";
    }
    if (std::string wrong = check(*items); !wrong.empty()) return wrong;
    at(in) = *items;
    return {};
  };
  const auto show = [at](place in) {
    std::string made;
    for (const std::string& item : at(in)) {
      made.append(made.empty() ? "" : ", ").append(in_quotes(item));
    }
    return "[" + made + "]";
  };
  return custom_setting(name, "list of texts", std::move(rule), set, show);
}

setting status_setting(setting_name name, member<int> at, const std::vector<int>& statuses) {
  std::string rule;
  for (const int each : statuses) {
    rule.append(rule.empty() ? "" : " | ").append(std::to_string(each));
  }
  const auto set = [at, statuses, rule](place in, const setting_value& given) -> std::string {
    const auto* number = std::get_if<std::int64_t>(&given);
    if (number == nullptr ||
        std::find(statuses.begin(), statuses.end(), *number) == statuses.end()) {
      return detail::refuse_choice(given, rule);
    }
    at(in) = static_cast<int>(*number);
    return {};
  };
  const auto show = [at](place in) { return std::to_string(at(in)); };
  return custom_setting(name, "status", rule, set, show);
}

std::string detail::refuse_choice(const setting_value& given, const std::string& rule) {
  return shown(given) + " is not taken: use " + rule;
}

}  // namespace callonce::gateway
