#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include <gateway/profile.hpp>
#include <gateway/setting_readings.hpp>

#include <callonce/core/target.hpp>

// The settings that say whose key it is, what it looks like and what it stands for.
namespace callonce::gateway::readings {
namespace {

using texts = std::vector<std::string>;

}  // namespace

std::string set_scope(std::optional<scope_rule>& into, const setting_value& given) {
  const auto* list = std::get_if<texts>(&given);
  const std::string* text = as_text(given);
  if (list == nullptr && text == nullptr) {
    return "is no rule: write e.g. \"header:X-Api-Key\", or a list of such texts";
  }
  try {
    into.emplace(list != nullptr ? scope_rule{*list} : scope_rule{*text});
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

std::string show_scope(const std::optional<scope_rule>& rule) {
  return rule ? in_quotes(rule->text()) : std::string{};
}

std::string set_file(std::filesystem::path& into, const setting_value& given) {
  const std::string* text = as_text(given);
  if (text == nullptr || text->empty()) return "is no file: write its path in quotes";
  into = *text;
  return {};
}

std::string check_printable(const std::string& text) {
  return is_printable(text) ? "" : in_quotes(text) + " has bytes that are not printable ASCII";
}

std::string check_origins(const texts& origins) {
  for (const std::string& each : origins) {
    if (each == "*") {
      return "\"*\" would let every web page in a caller's browser use his key: list the pages";
    }
    const std::size_t host = each.find("://");
    const bool right = host != std::string::npos && host + 3 < each.size() && is_printable(each) &&
                       each.find_first_of("/?# ", host + 3) == each.npos;
    if (!right) return in_quotes(each) + " is no origin: write e.g. \"https://shop.example\"";
  }
  return {};
}

std::string check_profile(const std::string& text) {
  if (find_profile(text) != nullptr) return {};
  std::string known;
  for (const profile& each : all_profiles()) {
    known.append(known.empty() ? "" : " | ").append(each.name);
  }
  return in_quotes(text) + " is not taken: use " + known;
}

std::string check_key_header(const std::string& text) {
  if (!is_name(text)) return in_quotes(text) + " is no header name";
  constexpr std::array<std::string_view, 8> taken{"Host",       "Content-Length",   "Content-Type",
                                                  "Connection", "Authorization",    "Cookie",
                                                  "Expect",     "Transfer-Encoding"};
  for (const std::string_view each : taken) {
    if (same_name(each, text)) return text + " has a meaning of its own: choose another field";
  }
  return {};
}

std::string check_auth_path(const std::string& text) {
  if (text.empty()) return {};
  const auto normal = normalise_target("GET", text);
  const bool right = text.front() == '/' && normal && normal->target == text;
  return right ? "" : in_quotes(text) + " is no path: write e.g. \"/internal/may-read\"";
}

namespace {

constexpr std::array<std::pair<std::string_view, fingerprint_rule::kind>, 4> print_words{
    {{"raw", fingerprint_rule::kind::raw},
     {"json", fingerprint_rule::kind::json},
     {"body", fingerprint_rule::kind::body},
     {"json-body", fingerprint_rule::kind::json_body}}};

void settle_fingerprint(route_settings& of) {
  of.policy.fingerprint = fingerprint_rule{of.print_by, of.print_fields, of.decode};
}

}  // namespace

std::string set_fingerprint(place in, const setting_value& given) {
  const auto* names = std::get_if<texts>(&given);
  if (names != nullptr) {
    if (names->empty()) return "the list is empty: name the fields, or write \"raw\"";
    for (const std::string& each : *names) {
      const bool right = !each.empty() && is_printable(each) && each.find(' ') == each.npos &&
                         each.front() != '.' && each.back() != '.' && each.find("..") == each.npos;
      if (!right) return in_quotes(each) + " is no field: write e.g. \"amount\", \"params.name\"";
    }
    in.route.print_by = fingerprint_rule::kind::fields;
    in.route.print_fields = *names;
    settle_fingerprint(in.route);
    return {};
  }
  const std::string* text = as_text(given);
  for (const auto& [word, what] : print_words) {
    if (text == nullptr || *text != word) continue;
    in.route.print_by = what;
    in.route.print_fields.clear();
    settle_fingerprint(in.route);
    return {};
  }
  return detail::refuse_choice(given, "raw | json | body | json-body | [\"FIELD\", ...]");
}

std::string show_fingerprint(place in) {
  for (const auto& [word, what] : print_words) {
    if (in.route.print_by == what) return in_quotes(word);
  }
  std::string made;
  for (const std::string& each : in.route.print_fields) {
    made.append(made.empty() ? "" : ", ").append(in_quotes(each));
  }
  return "[" + made + "]";
}

std::string set_decode(place in, const setting_value& given) {
  const std::string* text = as_text(given);
  if (text == nullptr || (*text != "off" && *text != "gzip")) {
    return detail::refuse_choice(given, "off | gzip");
  }
  in.route.decode = *text == "gzip";
  settle_fingerprint(in.route);
  return {};
}

std::string set_max_attempts(place in, const setting_value& given) {
  constexpr std::int64_t most = 1000;
  const auto* number = std::get_if<std::int64_t>(&given);
  if (number == nullptr || *number < 0 || *number > most) {
    return detail::refuse_choice(given, "a whole number from 0 to 1000");
  }
  in.route.policy.max_attempts = static_cast<std::uint32_t>(*number);
  return {};
}

}  // namespace callonce::gateway::readings
