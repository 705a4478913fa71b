#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/verbs.hpp>
#include <gateway/config.hpp>
#include <gateway/gateway.hpp>
#include <gateway/log.hpp>
#include <unistd.h>

namespace callonce::cli {
namespace {

struct options {
  std::string config;
  std::string upstream;
  std::string scope;
  std::string listen;
  std::string admin;
  std::string store;
  bool accept_new_scopes = false;
};

gateway::loaded_configuration load(const options& asked) {
  if (!asked.config.empty()) return gateway::load_file(asked.config);
  std::vector<std::pair<std::string, std::string>> given;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) given.emplace_back(name, value);
  };
  add("upstream", asked.upstream);
  add("scope.from", asked.scope);
  add("listen", asked.listen);
  add("store.url", asked.store);
  add("admin", asked.admin);
  return gateway::load_options(given);
}

int serve(const options& asked) {
  // Writing to a closed connection or a full disk is an error to handle, not an end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const gateway::loaded_configuration read = load(asked);
  for (const std::string& line : read.mistakes) std::cerr << line << '\n';
  if (!read.mistakes.empty()) return misused;
  const gateway::log lines{read.value.log, STDOUT_FILENO};
  for (const std::string& line : read.warnings) lines.warning("configuration", {{"advice", line}});
  try {
    gateway::start_options with;
    with.accept_new_scopes = asked.accept_new_scopes;
    if (!asked.config.empty()) {
      with.reload = [file = asked.config] { return gateway::load_file(file); };
    }
    gateway::gateway serving{read.value, lines, with};
    const gateway::gateway_end end = serving.run();
    // What still runs is left as a crash would leave it: its leases lapse.
    if (end == gateway::gateway_end::deadline) std::_Exit(drain_deadline);
  } catch (const std::runtime_error& fault) {
    std::cerr << "callonce: " << fault.what() << '\n';
    return not_started;
  }
  return done;
}

constexpr const char* footer = R"(Examples:
  callonce serve --upstream http://127.0.0.1:9000 --scope header:X-Api-Key
  callonce serve --config /etc/callonce/callonce.toml

Without a file it listens on 127.0.0.1:8080, keeps its records in ./callonce.db and
protects POST and PATCH requests that carry an Idempotency-Key. RULE says whose key
it is: header:NAME, cookie:NAME, trusted:NAME, jwt:CLAIM or shared. docs/reference/config.md has
all keys of the file.

Logs are JSON lines on standard output. SIGTERM and SIGINT finish what runs
(limits.drain), a second one ends at once. SIGHUP reads the file again: it counts for
new claims, and a file with a mistake changes nothing.

Exit codes: 0 drained; 1 command line or configuration; 2 a port, file or store cannot
be used; 3 the drain deadline came first: leases of what was left lapse by themselves)";

}  // namespace

void add_serve(CLI::App& app, int& code) {
  auto asked = std::make_shared<options>();
  CLI::App* verb = app.add_subcommand("serve", "Run the reverse proxy");
  CLI::Option* file =
      verb->add_option("--config", asked->config, "Everything from a file")->type_name("FILE");
  const auto add = [&](const char* name, std::string& into, const char* type, const char* help) {
    verb->add_option(name, into, help)->type_name(type)->excludes(file);
  };
  add("--upstream", asked->upstream, "URL", "The application: http://HOST:PORT or unix:PATH");
  add("--scope", asked->scope, "RULE", "Whose key it is, e.g. header:X-Api-Key");
  add("--listen", asked->listen, "ADDRESS:PORT", "Where clients connect");
  add("--admin", asked->admin, "ADDRESS:PORT", "Health and metrics");
  add("--store", asked->store, "URL",
      "Where records live: sqlite:PATH, postgres://USER@HOST/DATABASE or memory:");
  verb->add_flag("--accept-new-scopes", asked->accept_new_scopes,
                 "Serve although scope.from has changed: retries of old requests run again");
  verb->footer(footer);
  verb->callback([asked, &code] { code = serve(*asked); });
}

}  // namespace callonce::cli
