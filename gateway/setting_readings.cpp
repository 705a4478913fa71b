#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include <gateway/routes.hpp>
#include <gateway/setting_readings.hpp>

namespace callonce::gateway::readings {
namespace {

using texts = std::vector<std::string>;

std::string set_endpoint(endpoint_or_mistake read, std::optional<endpoint>& into) {
  if (const auto* wrong = std::get_if<std::string>(&read)) return *wrong;
  into = std::get<endpoint>(read);
  return {};
}

std::optional<int> read_status(std::string_view text) {
  if (text.size() != 3 || text.front() < '2' || text.front() > '5') return std::nullopt;
  if (text.substr(1) == "xx") return text.front() - '0';
  int status = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), status);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return status;
}

constexpr std::array<std::pair<std::string_view, outcome_rule>, 3> outcome_words{
    {{"final", outcome_rule::complete},
     {"release", outcome_rule::release},
     {"keep", outcome_rule::keep}}};

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
  });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

std::string set_listen(place in, const setting_value& given) {
  const auto* list = std::get_if<texts>(&given);
  const texts all = list ? *list : as_text(given) ? texts{*as_text(given)} : texts{};
  if (all.empty()) return "no listener: write ADDRESS:PORT, e.g. \"127.0.0.1:8080\", or unix:PATH";
  in.whole.listen.clear();
  for (const std::string& text : all) {
    std::optional<endpoint> made;
    if (std::string wrong = set_endpoint(parse_listener(text), made); !wrong.empty()) return wrong;
    in.whole.listen.push_back(*made);
  }
  return {};
}

std::string show_listen(place in) {
  std::string made;
  for (const endpoint& each : in.whole.listen) {
    made.append(made.empty() ? "" : ", ").append(in_quotes(to_text(each)));
  }
  return in.whole.listen.size() == 1 ? made : "[" + made + "]";
}

std::string upstream_text(const std::optional<endpoint>& where) {
  if (!where) return "";
  return in_quotes((where->is_unix() ? "" : "http://") + to_text(*where));
}

std::string set_upstream(std::optional<endpoint>& into, const setting_value& given) {
  const std::string* text = as_text(given);
  if (text == nullptr) return "is no text: write \"http://HOST:PORT\" or \"unix:PATH\"";
  return set_endpoint(parse_upstream(*text), into);
}

std::string set_admin(place in, const setting_value& given) {
  const std::string* text = as_text(given);
  if (text == nullptr) return "is no text: write \"ADDRESS:PORT\", or \"\" for none";
  in.whole.admin.reset();
  return text->empty() ? "" : set_endpoint(parse_listener(*text), in.whole.admin);
}

std::string set_proxies(place in, const setting_value& given) {
  const auto* list = std::get_if<texts>(&given);
  if (list == nullptr) return "is no list: write e.g. [\"10.0.0.0/8\"]";
  in.whole.proxies = {};
  for (const std::string& text : *list) {
    if (!in.whole.proxies.add(text)) {
      return in_quotes(text) + " is no hop: write an address, a network as ADDRESS/BITS, or unix";
    }
  }
  return {};
}

std::string show_proxies(place in) {
  std::string made;
  for (const std::string& each : in.whole.proxies.texts()) {
    made.append(made.empty() ? "" : ", ").append(in_quotes(each));
  }
  return "[" + made + "]";
}

std::string set_store(place in, const setting_value& given) {
  const std::string* text = as_text(given);
  constexpr std::string_view sqlite = "sqlite:";
  store_settings& store = in.whole.store;
  const bool server =
      text != nullptr && (text->starts_with("postgres://") || text->starts_with("postgresql://"));
  const bool file = text != nullptr && text->starts_with(sqlite) && text->size() > sqlite.size();
  const bool memory = text != nullptr && *text == "memory:";
  if (!server && !file && !memory) {
    // What looks like a server may hold a password.
    const bool shown = text != nullptr && text->find("://") == std::string::npos;
    return (shown ? in_quotes(*text) : std::string{"this"}) +
           " is no store: write sqlite:PATH, postgres://USER@HOST/DATABASE, or memory: for "
           "development";
  }
  store.memory = memory;
  store.server = server ? *text : std::string{};
  if (file) store.path = text->substr(sqlite.size());
  return {};
}

std::string show_store(place in) {
  return in_quotes(in.whole.store.shown());
}

// Calls that do not change anything need no key; a body has no meaning for them either.
std::string check_methods(const texts& methods) {
  if (methods.empty()) return "the list is empty: write key = \"off\" to protect no method";
  for (const std::string& each : methods) {
    if (!is_name(each)) return in_quotes(each) + " is no method: write e.g. \"POST\"";
    if (std::any_of(each.begin(), each.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
      return in_quotes(each) + " has small letters: methods are compared with case, so write POST";
    }
    if (each == "CONNECT") return "CONNECT cannot be protected: leave it out";
  }
  return {};
}

std::string check_names(const texts& names) {
  for (const std::string& each : names) {
    if (!is_name(each)) return in_quotes(each) + " is no header name";
  }
  return {};
}

std::string check_base(const std::string& text) {
  const bool right = is_printable(text) && text.find_first_of(" \"\\<>") == std::string::npos &&
                     (text.empty() || text.find(':') != std::string::npos);
  return right ? "" : in_quotes(text) + " is no URI: write e.g. \"https://errors.example/\"";
}

std::string check_label(const std::string& text) {
  // Short enough for a metric label and a column of a terminal.
  const bool right = !text.empty() && text.size() <= 100 && is_printable(text);
  return right ? "" : in_quotes(text) + " is no name: use 1 to 100 printable ASCII characters";
}

std::string check_path(const std::string& text) {
  std::string wrong = pattern_mistake(text);
  if (!wrong.empty()) wrong += ": write e.g. /v1/charges, /v1/charges/{id} or /v1/*";
  return wrong;
}

std::string set_outcome(place in, const setting_value& given) {
  const auto* pairs = std::get_if<std::vector<std::pair<std::string, std::string>>>(&given);
  if (pairs == nullptr) return "is no table: write e.g. { 429 = \"final\", 5xx = \"release\" }";
  std::map<int, outcome_rule> rules;
  for (const auto& [name, word] : *pairs) {
    const auto status = read_status(name);
    if (!status)
      return in_quotes(name) + " is no status: write 200 to 599, or a class as 2xx to 5xx";
    const auto found =
        std::find_if(outcome_words.begin(), outcome_words.end(),
                     [&word = word](const auto& each) { return each.first == word; });
    if (found == outcome_words.end()) {
      return name + " = " + in_quotes(word) + " is not taken: use final | release | keep";
    }
    rules[*status] = found->second;
  }
  in.route.policy.outcome = std::move(rules);
  return {};
}

std::string show_outcome(place in) {
  std::string made;
  for (const auto& [status, rule] : in.route.policy.outcome) {
    const std::string name = status < 10 ? std::to_string(status) + "xx" : std::to_string(status);
    for (const auto& [word, value] : outcome_words) {
      if (value != rule) continue;
      made.append(made.empty() ? " " : ", ").append(name).append(" = ").append(in_quotes(word));
    }
  }
  return made.empty() ? "{}" : "{" + made + " }";
}

}  // namespace callonce::gateway::readings
