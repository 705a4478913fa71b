#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gateway/config.hpp>
#include <gateway/document.hpp>

namespace callonce::gateway {

/// What a setting is written to: keys of routes and of the defaults to `route`, others to `whole`.
struct place {
  configuration& whole;
  route_settings& route;
};

/// One key of the configuration contract. Parsing, `check`, the reference page and `--help` are all
/// made from these.
struct setting {
  std::string_view
      section;  ///< "" the top level; "defaults" also in [[route]]; "route" only there.
  std::string_view key;
  std::string type;
  std::string rule;       ///< Which values are taken; empty: any of the type.
  std::string_view help;  ///< One line.
  /// Errors: what is wrong and what to do; empty when the value was taken.
  std::function<std::string(place, const setting_value&)> set;
  /// The value as it would be written in the file.
  std::function<std::string(place)> show;

  /// `section.key` as messages name it.
  std::string full_name() const;
};

/// All keys, in the order of the reference page.
std::span<const setting> all_settings();

/// The value of a setting in a configuration that says nothing; empty where there is none.
std::string default_text(const setting& of);

/// A text in TOML's quotes.
std::string in_quotes(std::string_view text);

// Kinds of settings. `At` is a function from a place to the member that holds the value.

template <class Value>
using member = Value& (*)(place);

/// What all kinds share.
struct setting_name {
  std::string_view section;
  std::string_view key;
  std::string_view help;
};

setting duration_setting(setting_name name, member<std::chrono::milliseconds> at,
                         std::chrono::milliseconds min, std::chrono::milliseconds max);
setting size_setting(setting_name name, member<std::uint64_t> at, std::uint64_t min,
                     std::uint64_t max);
setting count_setting(setting_name name, member<std::uint64_t> at, std::uint64_t min,
                      std::uint64_t max);
setting boolean_setting(setting_name name, member<bool> at);
/// `check` gives what is wrong with a text, or nothing.
setting text_setting(setting_name name, member<std::string> at, std::string rule,
                     std::string (*check)(const std::string&));
setting list_setting(setting_name name, member<std::vector<std::string>> at, std::string rule,
                     std::string (*check)(const std::vector<std::string>&));

/// One of a few words.
template <class Value>
setting choice_setting(setting_name name, member<Value> at,
                       std::vector<std::pair<std::string_view, Value>> words);
/// One of a few numbers.
setting status_setting(setting_name name, member<int> at, const std::vector<int>& statuses);

/// A text with a reading of its own.
setting custom_setting(setting_name name, std::string type, std::string rule,
                       std::function<std::string(place, const setting_value&)> set,
                       std::function<std::string(place)> show);

/// The text in `value`, or null.
const std::string* as_text(const setting_value& value);

namespace detail {
std::string refuse_choice(const setting_value& given, const std::string& rule);
}

template <class Value>
setting choice_setting(setting_name name, member<Value> at,
                       std::vector<std::pair<std::string_view, Value>> words) {
  std::string rule;
  for (const auto& [word, value] : words) rule.append(rule.empty() ? "" : " | ").append(word);
  const auto set = [at, words, rule](place in, const setting_value& given) -> std::string {
    const std::string* text = as_text(given);
    for (const auto& [word, value] : words) {
      if (text == nullptr || *text != word) continue;
      at(in) = value;
      return {};
    }
    return detail::refuse_choice(given, rule);
  };
  const auto show = [at, words](place in) {
    for (const auto& [word, value] : words) {
      if (at(in) == value) return in_quotes(word);
    }
    return std::string{};
  };
  return custom_setting(name, "word", rule, set, show);
}

}  // namespace callonce::gateway
