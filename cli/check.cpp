#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/columns.hpp>
#include <cli/configured.hpp>
#include <cli/verbs.hpp>
#include <gateway/reference.hpp>
#include <gateway/routes.hpp>
#include <gateway/setting.hpp>

#include <callonce/core/target.hpp>

namespace callonce::cli {
namespace {

using gateway::configuration;
using gateway::route_settings;

struct options {
  std::string config;
  std::string request;
  bool reference = false;
};

using origin_map = std::map<std::string, gateway::origin, std::less<>>;

std::string origin_of(const origin_map& origins, std::string_view name) {
  const auto found = origins.find(name);
  return to_text(found == origins.end() ? gateway::origin{} : found->second);
}

std::string shown(const std::string& text) {
  return text.empty() ? "(none)" : text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string made;
  for (const std::string& each : words) made.append(made.empty() ? "" : " ").append(each);
  return made;
}

// The value of a setting without the quotes that it has in the file.
std::string plain(const configuration& of, const route_settings& route, std::string_view key) {
  configuration whole = of;
  route_settings copy = route;
  for (const gateway::setting& each : gateway::all_settings()) {
    if (each.key != key || (each.section != "defaults" && each.section != "route")) continue;
    std::string text = each.show(gateway::place{whole, copy});
    std::erase(text, '"');
    return text;
  }
  return {};
}

void print_routes(const configuration& of) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"ROUTE", "METHODS", "KEY", "CLASS", "LEASE", "TIMEOUT", "LAPSED"});
  const auto add = [&](const route_settings& route, const std::string& name) {
    rows.push_back({name, joined(route.policy.methods), plain(of, route, "key"),
                    plain(of, route, "class"), plain(of, route, "lease"),
                    plain(of, route, "timeout"), plain(of, route, "on_lapsed")});
  };
  for (const route_settings& each : of.routes) add(each, each.path);
  add(of.defaults, of.routes.empty() ? "(all)" : "(all others)");
  std::cout << '\n' << in_columns(rows);
}

void print_whole(configuration of, const std::string& file) {
  std::vector<std::vector<std::string>> rows;
  for (const gateway::setting& each : gateway::all_settings()) {
    if (each.section == "defaults" || each.section == "route") continue;
    rows.push_back({each.full_name(), shown(each.show(gateway::place{of, of.defaults})),
                    origin_of(of.origins, each.full_name())});
  }
  std::cout << in_columns(rows);
  print_routes(of);
  std::cout << '\n' << file << ": can be served\n";
}

std::string protection(const policy_settings& is, std::string_view method) {
  const bool listed = std::find(is.methods.begin(), is.methods.end(), method) != is.methods.end();
  if (is.key == key_demand::off) return "passed on: key = \"off\"";
  if (!listed) return "passed on: " + std::string{method} + " is not among methods";
  if (is.key == key_demand::required) return "protected; without a key it is answered 400";
  return "protected with a key, passed on without one";
}

int print_request(configuration of, const std::string& request) {
  const std::size_t blank = request.find(' ');
  const std::string method = request.substr(0, blank);
  const auto normal =
      normalise_target(method, blank == std::string::npos ? "" : request.substr(blank + 1));
  const std::string target = normal ? normal->target : "";
  if (!target.starts_with('/')) {
    std::cerr << "--request: '" << request << "' is no request: write 'METHOD /PATH'\n";
    return misused;
  }
  gateway::route_table table;
  for (std::size_t i = 0; i < of.routes.size(); ++i) table.add(of.routes[i].path, i);
  const std::size_t found = table.match(target);
  const bool matched = found != gateway::route_table::none;
  route_settings route = matched ? of.routes[found] : of.defaults;

  std::cout << method << ' ' << target << '\n';
  if (matched) {
    std::cout << "  route " << route.path << " (" << origin_of(route.origins, "path") << ")\n";
  } else {
    std::cout << "  no route: the defaults\n";
  }
  std::cout << "  " << protection(route.policy, method) << "\n\n";
  std::vector<std::vector<std::string>> rows;
  const gateway::place at{of, route};
  for (const gateway::setting& each : gateway::all_settings()) {
    const bool of_route = each.section == "route";
    const bool inherited = of_route && ((each.key == "upstream" && !route.upstream) ||
                                        (each.key == "scope" && !route.scope));
    if (each.key == "path" || inherited) continue;
    if (each.section == "defaults" || each.section == "route") {
      rows.push_back(
          {std::string{each.key}, shown(each.show(at)), origin_of(route.origins, each.key)});
    } else if ((each.full_name() == "scope.from" && !route.scope) ||
               (each.key == "upstream" && !route.upstream)) {
      rows.push_back(
          {each.full_name(), shown(each.show(at)), origin_of(of.origins, each.full_name())});
    }
  }
  std::cout << in_columns(rows, 2);
  return done;
}

int check(const options& asked) {
  if (asked.reference) {
    std::cout << gateway::reference_page();
    return done;
  }
  if (asked.config.empty()) {
    std::cerr << "check: say which file: --config callonce.toml\n";
    return misused;
  }
  auto of = usable(gateway::load_file(asked.config));
  if (!of) return misused;
  if (!asked.request.empty()) return print_request(std::move(*of), asked.request);
  print_whole(std::move(*of), asked.config);
  return done;
}

}  // namespace

void add_check(CLI::App& app, int& code) {
  auto asked = std::make_shared<options>();
  CLI::App* verb =
      app.add_subcommand("check", "Say what a configuration means, or what is wrong with it");
  verb->add_option("--config", asked->config, "The file")->type_name("FILE");
  verb->add_option("--request", asked->request, "Show this request's route and settings")
      ->type_name("'METHOD /PATH'");
  verb->add_flag("--reference", asked->reference, "Print the reference page of all keys");
  verb->footer(
      "Examples:\n"
      "  callonce check --config callonce.toml\n"
      "  callonce check --config callonce.toml --request 'POST /v1/charges/7/capture'\n\n"
      "Nothing is started or opened. Exit code: 0 it can be served, 1 it cannot.\n\n"
      "Keys, their defaults and meaning (docs/reference/config.md has the whole page):\n" +
      gateway::settings_help());
  verb->callback([asked, &code] { code = check(*asked); });
}

}  // namespace callonce::cli
