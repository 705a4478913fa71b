#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include <gateway/config.hpp>
#include <gateway/config_rules.hpp>
#include <gateway/jwt.hpp>
#include <gateway/profile.hpp>
#include <gateway/setting.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

std::string store_settings::shown() const {
  if (memory) return "memory:";
  if (server.empty()) return "sqlite:" + path.string();
  static const std::regex in_authority{R"(^([a-z]+://[^/?#:@]*):[^/?#]*@)"};
  static const std::regex in_query{R"(([?&](ssl)?password=)[^&]*)"};
  const std::string bare = std::regex_replace(server, in_authority, "$1:***@");
  return std::regex_replace(bare, in_query, "$1***");
}

namespace {

std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

bool takes(std::string_view section, const setting& known) {
  return known.section == section || (section == "route" && known.section == "defaults");
}

const setting* find_setting(std::string_view section, std::string_view key) {
  for (const setting& each : all_settings()) {
    if (takes(section, each) && each.key == key) return &each;
  }
  return nullptr;
}

std::string heading(std::string_view section) {
  if (section.empty()) return "the top level";
  if (section == "route") return "[[route]]";
  return "[" + std::string{section} + "]";
}

// What the writer may have meant: the same key elsewhere, or one spelled nearly so.
std::string suggestion(std::string_view section, std::string_view key) {
  std::size_t best = std::max<std::size_t>(2, key.size() / 3) + 1;
  const setting* nearest = nullptr;
  for (const setting& each : all_settings()) {
    if (!takes(section, each)) {
      if (each.key == key) return "it belongs to " + heading(each.section);
      continue;
    }
    if (const std::size_t away = distance(key, each.key); away < best) {
      best = away;
      nearest = &each;
    }
  }
  if (nearest != nullptr) return "did you mean '" + std::string{nearest->key} + "'?";
  return "callonce check --reference lists all keys";
}

bool is_section(std::string_view name) {
  const auto all = all_settings();
  return std::any_of(all.begin(), all.end(),
                     [&](const setting& each) { return each.section == name; });
}

std::string unknown_section(std::string_view name) {
  std::string known;
  std::string_view last;
  for (const setting& each : all_settings()) {
    if (each.section.empty() || each.section == std::exchange(last, each.section)) continue;
    known.append(known.empty() ? "" : ", ").append(heading(each.section));
  }
  return std::string{name} + ": unknown table: there are " + known;
}

class builder {
 public:
  builder(loaded_configuration& into, std::string name, std::vector<mistake>& mistakes)
      : into_(into), name_(std::move(name)), mistakes_(mistakes) {}

  // Strongest first: a route's own key, its profile, the defaults' own key, their profile.
  void apply(const document& from, origin::source at_top) {
    std::set<std::string> unknown;
    const auto is_profile = [](const assignment& each) { return each.key == "profile"; };
    const auto apply_where = [&](auto wanted) {
      for (const assignment& each : from.assignments) {
        if (wanted(each)) apply(each, at_top);
      }
    };
    for (const assignment& each : from.assignments) {
      if (!is_section(each.section) && unknown.insert(each.section).second) {
        blame(each.line, unknown_section(each.section));
      }
    }
    const auto outside = [&](const assignment& each) {
      return is_section(each.section) && each.section != "route";
    };
    apply_where([&](const assignment& each) { return outside(each) && is_profile(each); });
    apply_where([&](const assignment& each) { return outside(each) && !is_profile(each); });
    open_routes_up_to(from.route_lines.size());
    const auto inside = [](const assignment& each) { return each.section == "route"; };
    apply_where([&](const assignment& each) { return inside(each) && is_profile(each); });
    apply_where([&](const assignment& each) { return inside(each) && !is_profile(each); });
    for (std::size_t i = 0; i < into_.value.routes.size(); ++i)
      finish_route(i, from.route_lines[i]);
  }

 private:
  void blame(unsigned line, std::string text) { mistakes_.push_back({line, std::move(text)}); }
  void open_routes_up_to(std::size_t count) {
    while (into_.value.routes.size() < count) {
      route_settings made = into_.value.defaults;
      made.policy.name.clear();
      into_.value.routes.push_back(std::move(made));
    }
  }

  void apply(const assignment& each, origin::source at_top) {
    const bool in_route = each.section == "route";
    const std::string where = each.section.empty() ? each.key : each.section + "." + each.key;
    route_settings& route = in_route ? into_.value.routes[each.route] : into_.value.defaults;
    const setting* known = find_setting(each.section, each.key);
    if (known == nullptr) {
      blame(each.line, where + ": unknown key: " + suggestion(each.section, each.key));
      return;
    }
    if (std::string wrong = known->set(place{into_.value, route}, each.value); !wrong.empty()) {
      blame(each.line, where + ": " + wrong);
    }
    const bool of_route = in_route || each.section == "defaults";
    if (of_route && each.key == "profile") apply_profile(route, each.line);
    if (in_route) {
      route.origins[each.key] = {origin::source::route, each.line};
    } else if (each.section == "defaults") {
      route.origins[each.key] = {origin::source::defaults, each.line};
    } else {
      into_.value.origins[known->full_name()] = {at_top, each.line};
    }
  }

  void apply_profile(route_settings& route, unsigned line) {
    const profile* chosen = find_profile(route.profile);
    if (chosen == nullptr) return;
    // A route that asks for a contract gets all of it, whatever the defaults' profile was.
    for (const preset& each : chosen->presets) {
      const setting* known = find_setting("defaults", each.key);
      const std::string wrong =
          known == nullptr ? "unknown" : known->set(place{into_.value, route}, each.value);
      if (!wrong.empty()) blame(line, "profile " + route.profile + ": " + wrong);
      route.origins[std::string{each.key}] = {origin::source::profile, line};
    }
  }

  void finish_route(std::size_t index, unsigned line) {
    route_settings& route = into_.value.routes[index];
    if (route.origins.count("path") == 0) {
      blame(line, "route: has no path: write path = \"/v1/charges\"");
    }
    if (route.policy.name.empty()) route.policy.name = route.path;
  }

  loaded_configuration& into_;
  std::string name_;
  std::vector<mistake>& mistakes_;
};

std::filesystem::path from_directory(const std::filesystem::path& directory,
                                     const std::filesystem::path& path) {
  return path.empty() || path.is_absolute() ? path : (directory / path).lexically_normal();
}

void resolve_paths(configuration& in, const std::filesystem::path& directory) {
  in.store.path = from_directory(directory, in.store.path);
  in.tokens.key = from_directory(directory, in.tokens.key);
  const auto resolve = [&](endpoint& each) {
    if (each.is_unix()) each.path = from_directory(directory, each.path).string();
  };
  for (endpoint& each : in.listen) resolve(each);
  if (in.upstream) resolve(*in.upstream);
  if (in.admin) resolve(*in.admin);
  for (route_settings& each : in.routes) {
    if (each.upstream) resolve(*each.upstream);
  }
}

void give_scopes(configuration& in, std::vector<mistake>& mistakes) {
  std::shared_ptr<const token_verifier> verifier;
  if (wants_tokens(in)) {
    try {
      verifier = std::make_shared<const jwt_verifier>(
          jwt_settings{in.tokens.key, in.tokens.algorithm, in.tokens.issuer, in.tokens.audience},
          system_environment());
    } catch (const std::invalid_argument& wrong) {
      const auto known = in.origins.find("scope.jwt_key");
      mistakes.push_back({known == in.origins.end() ? 0 : known->second.line,
                          "scope.jwt_key: " + std::string{wrong.what()}});
    }
  }
  const auto give = [&](route_settings& to) {
    to.policy.scope = to.scope ? to.scope : in.scope;
    if (to.policy.scope->needs_verifier()) to.policy.scope->verify_by(verifier);
  };
  give(in.defaults);
  for (route_settings& each : in.routes) give(each);
}

loaded_configuration build(const document& from, const std::string& name,
                           const std::filesystem::path& directory, origin::source at_top) {
  loaded_configuration made;
  std::vector<mistake> mistakes = from.mistakes;
  builder{made, name, mistakes}.apply(from, at_top);
  resolve_paths(made.value, directory);
  judgement_of_rules judged;
  // A value that could not be read would only be blamed a second time.
  if (mistakes.empty()) judged = judge_rules(made.value);
  mistakes.insert(mistakes.end(), judged.mistakes.begin(), judged.mistakes.end());
  if (mistakes.empty()) give_scopes(made.value, mistakes);
  const auto print = [&](std::vector<mistake>& all, std::vector<std::string>& into) {
    std::stable_sort(all.begin(), all.end(),
                     [](const mistake& a, const mistake& b) { return a.line < b.line; });
    for (const mistake& each : all) {
      const std::string line = each.line == 0 ? "" : ":" + std::to_string(each.line);
      into.push_back(name + line + ": " + each.text);
    }
  };
  print(mistakes, made.mistakes);
  print(judged.warnings, made.warnings);
  return made;
}

}  // namespace

configuration::configuration() {
  listen.push_back({"127.0.0.1", 8080, ""});
  admin = endpoint{"127.0.0.1", 9901, ""};
  defaults.policy.name = "default";
}

std::string identity_rules(const configuration& of) {
  std::set<std::string> apart;
  const auto add = [&](const route_settings& each, const std::string& name) {
    const bool per_route = each.policy.key_per == key_identity::route;
    if (!per_route && !each.scope) return;
    std::string line = name + (per_route ? " key_per=route" : "");
    if (each.scope) line += " scope=" + each.scope->text();
    apart.insert(std::move(line));
  };
  add(of.defaults, "*");
  for (const route_settings& each : of.routes) add(each, each.path);
  std::string made = of.scope->text();
  for (const std::string& line : apart) made.append("\n").append(line);
  return made;
}

loaded_configuration load_text(std::string_view text, const std::string& name,
                               const std::filesystem::path& directory) {
  return build(read_document(text), name, directory, origin::source::file);
}

loaded_configuration load_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || std::filesystem::is_directory(file)) {
    loaded_configuration none;
    none.mistakes.push_back(file.string() + ": cannot be read: name a readable file with --config");
    return none;
  }
  return load_text(text.str(), file.string(), std::filesystem::absolute(file).parent_path());
}

loaded_configuration load_options(const std::vector<std::pair<std::string, std::string>>& options) {
  document made;
  for (const auto& [name, value] : options) {
    const std::size_t dot = name.find('.');
    assignment each;
    each.section = dot == std::string::npos ? "" : name.substr(0, dot);
    each.key = dot == std::string::npos ? name : name.substr(dot + 1);
    each.value = value;
    made.assignments.push_back(std::move(each));
  }
  return build(made, "command line", std::filesystem::current_path(), origin::source::option);
}

}  // namespace callonce::gateway
