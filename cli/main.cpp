#include <exception>
#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/verbs.hpp>

namespace {

constexpr const char* description =
    R"(callonce: std::call_once for HTTP APIs.

A reverse proxy that runs each request with an Idempotency-Key at most once at a
time and gives every retry the first answer again.)";

constexpr const char* footer = R"(Begin with:
  callonce serve --upstream http://127.0.0.1:9000 --scope header:X-Api-Key
  curl -i http://127.0.0.1:8080/v1/charges -H 'X-Api-Key: me' \
       -H 'Idempotency-Key: first-try' -d amount=700       # twice: one charge, one answer

Then write callonce.toml (callonce check --help lists its keys) and look into keys:
  callonce check --config callonce.toml --request 'POST /v1/charges'
  callonce keys list --config callonce.toml --state parked

Read on: docs/start.md, docs/concepts.md, docs/reference/{config,cli,errors,http}.md

Exit codes: 0 done; 1 command line or configuration; 2 could not start; 3 drain
deadline (serve); 4 no such record, or it is not as the command says (keys))";

}  // namespace

int main(int count, char** words) {
  CLI::App app{description, "callonce"};
  app.set_version_flag("--version", "callonce " CALLONCE_VERSION);
  app.footer(footer);
  app.require_subcommand(1);
  int code = callonce::cli::done;
  callonce::cli::add_serve(app, code);
  callonce::cli::add_check(app, code);
  callonce::cli::add_keys(app, code);
  callonce::cli::add_purge(app, code);
  callonce::cli::add_policy(app, code);
  callonce::cli::add_migrate(app, code);
  const auto is_meant = [&](const CLI::App* verb) { return verb->get_name() == words[1]; };
  if (count > 1 && words[1][0] != '-' && app.get_subcommands(is_meant).empty()) {
    std::cerr << "callonce: '" << words[1]
              << "' is no verb: use serve, check, keys, purge, policy or migrate\n";
    return callonce::cli::misused;
  }
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& fault) {
    // Help and version are no faults; all others are the caller's.
    return app.exit(fault) == 0 ? callonce::cli::done : callonce::cli::misused;
  } catch (const std::exception& fault) {
    std::cerr << "callonce: " << fault.what() << '\n';
    return callonce::cli::not_started;
  }
  return code;
}
