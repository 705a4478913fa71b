#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/configured.hpp>
#include <cli/verbs.hpp>
#include <gateway/config.hpp>
#include <gateway/units.hpp>

#include <callonce/core/problem.hpp>

namespace callonce::cli {
namespace {

using gateway::configuration;
using gateway::route_settings;

std::string joined(const std::vector<std::string>& words) {
  std::string made;
  for (const std::string& each : words) made.append(made.empty() ? "" : ", ").append(each);
  return made;
}

std::string key_sentence(const policy_settings& is) {
  std::string made = "`" + is.key_header + "`, 1 to 255 bytes, ";
  made += is.key_syntax == key_syntax::strict
              ? "as a quoted string"
              : "quoted or bare (letters, digits and `-_.~:+/=`); both spellings are one key";
  constexpr std::string_view formats[] = {"", "a UUID", "a UUID version 4", "a UUID version 7",
                                          "a ULID"};
  const std::string_view format = formats[static_cast<std::size_t>(is.key_format)];
  if (!format.empty()) made.append("; it must be ").append(format);
  return made;
}

std::string age_sentence(const policy_settings& is) {
  switch (is.key_time) {
    case key_time::off:
      return {};
    case key_time::first_sent:
      return "`Repeatability-First-Sent` goes with it";
    case key_time::uuidv7:
    case key_time::ulid:
      break;
  }
  return "the time inside the key counts";
}

std::string sameness(const route_settings& route) {
  using kind = fingerprint_rule::kind;
  std::string made;
  switch (route.print_by) {
    case kind::raw:
      made = "method, path, query, media type and the body byte for byte";
      break;
    case kind::json:
      made = "method, path, query, media type and the meaning of the JSON body";
      break;
    case kind::body:
      made = "query and the body byte for byte";
      break;
    case kind::json_body:
      made = "query and the meaning of the JSON body";
      break;
    case kind::fields:
      made =
          "method, path, query and these members of the JSON body: " + joined(route.print_fields);
      break;
  }
  if (route.decode) made += "; a gzip body counts by its content";
  return made;
}

void line(std::string_view name, const std::string& text) {
  if (!text.empty()) std::cout << "- **" << name << "**: " << text << ".\n";
}

std::string refusal(problem_code code, const problem_form& form, int status) {
  problem what{code};
  what.status = status;
  const response made = to_response(what, form);
  return std::to_string(made.status());
}

void print_route(const route_settings& route, const std::string& path) {
  const policy_settings& is = route.policy;
  std::cout << "\n## " << path << "\n\n";
  if (is.key == key_demand::off) {
    std::cout << "Keys are not looked at here.\n";
    return;
  }
  line("Methods", joined(is.methods));
  line("Key", key_sentence(is));
  line("Without a key", is.key == key_demand::required ? "400" : "the request runs each time");
  line("A key belongs to", is.key_per == key_identity::route
                               ? "the caller, the method and the path: elsewhere it is another key"
                               : "the caller: on another operation it is refused");
  line("The same request", sameness(route));
  line("Another request under the key",
       refusal(problem_code::key_reused, is.problems, is.on_mismatch));
  line("While the first request runs",
       is.wait.count() > 0 ? "waits up to " + gateway::to_text(is.wait) + ", then " +
                                 std::to_string(is.on_in_progress) + " with `Retry-After`"
                           : std::to_string(is.on_in_progress) + " with `Retry-After`");
  line("Replays", "the first answer for " + gateway::to_text(is.retention) +
                      ", marked `Idempotent-Replayed: true`");
  line("A finished key never runs again for", gateway::to_text(is.key_retention));
  if (const std::string age = age_sentence(is); !age.empty()) {
    line("Dated keys", age + "; older than " + gateway::to_text(is.key_retention - is.key_skew) +
                           " or more than " + gateway::to_text(is.key_skew) +
                           " in the future: 412");
  }
  line("Errors that are not stored",
       "401, 403, 406, 407, 408, 421, 423, 425, 428, 429, 431, a 409 that asks to come again" +
           std::string{is.outcome.count(5) == 0 ? ", and 5xx" : ""} +
           ": the next retry runs again");
}

int print_policy(const std::string& file) {
  const auto read = gateway::load_file(file);
  for (const std::string& each : read.mistakes) std::cerr << each << '\n';
  if (!read.mistakes.empty()) return misused;
  const configuration& of = read.value;
  std::cout << "# Idempotency keys\n\n"
               "Send a fresh key with each new operation, and the same key with every retry of "
               "it.\nA retry gets the first answer; the operation runs once.\n";
  for (const route_settings& each : of.routes) print_route(each, each.path);
  print_route(of.defaults, of.routes.empty() ? "All paths" : "All other paths");
  return done;
}

}  // namespace

void add_policy(CLI::App& app, int& code) {
  auto config = std::make_shared<std::string>();
  CLI::App* verb =
      app.add_subcommand("policy", "Print what an API should publish about its keys, as Markdown");
  verb->add_option("--config", *config, "The gateway's configuration file")
      ->type_name("FILE")
      ->required();
  verb->footer("Nothing is started or opened. Exit code: 0 printed, 1 the file is wrong.");
  verb->callback([config, &code] { code = print_policy(*config); });
}

}  // namespace callonce::cli
