#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/keys.hpp>
#include <cli/verbs.hpp>
#include <gateway/log.hpp>
#include <gateway/routes.hpp>

namespace callonce::cli {
namespace {

constexpr const char* footer =
    R"(A record is named by its ID (16 hex digits, as in logs and problem answers), or by
what the client sent: --scope VALUE --key KEY, where VALUE is what the scope rule
finds (an API key for header:X-Api-Key) and KEY is the key without quotes.

Examples:
  callonce keys list --config callonce.toml --state parked --older 5m
  callonce keys show --config callonce.toml --scope tenant-7 --key order-1
  callonce keys release 9f86d081884c7d65 --config callonce.toml --attempt 2 \
      --reason 'never reached the provider'
  callonce keys settle 9f86d081884c7d65 --config callonce.toml --attempt 2 \
      --status 201 --header 'Location: /v1/charges/7' --body-file answer.json \
      --reason 'found in the provider ledger'

The verbs open the store and work while gateways run or not. Verbs that write need the
attempt that `show` gives, so that nothing is settled that has moved on meanwhile.

Exit codes: 0 done; 1 command line or configuration; 2 the store cannot be used;
4 no such record, or it is not as the command says)";

// The route that answers a request like 'POST /v1/charges'.
std::optional<gateway::route_settings> route_of(const gateway::configuration& of,
                                                const std::string& request) {
  const std::size_t blank = request.find(' ');
  if (blank == std::string::npos || request.compare(blank + 1, 1, "/") != 0) {
    std::cerr << "--request: '" << request << "' is no request: write 'METHOD /PATH'\n";
    return std::nullopt;
  }
  gateway::route_table table;
  for (std::size_t i = 0; i < of.routes.size(); ++i) table.add(of.routes[i].path, i);
  const std::size_t found = table.match(request.substr(blank + 1));
  return found == gateway::route_table::none ? of.defaults : of.routes[found];
}

std::variant<record_filter, int> filter_of(const opened_store& in, const key_choice& which) {
  record_filter filter;
  filter.limit = 1;
  if (!which.id.empty()) {
    filter.record_id = which.id;
    if (which.id.size() == 16 && from_hex(which.id)) return filter;
    std::cerr << "'" << which.id << "' is no record id: it has 16 hex digits\n";
    return misused;
  }
  if (which.key.empty() || which.key.size() > key::bytes_max) {
    std::cerr << "say which key: its ID, or --scope VALUE --key KEY\n";
    return misused;
  }
  gateway::route_settings route = in.configuration.defaults;
  if (!which.request.empty()) {
    const auto named = route_of(in.configuration, which.request);
    if (!named) return misused;
    route = *named;
  }
  const std::optional<scope_rule> rule = route.scope ? route.scope : in.scope;
  if (!rule) {
    std::cerr << "no scope rule is known for --scope: name the gateway's file with --config\n";
    return misused;
  }
  if (which.scope.size() != rule->size() && !rule->is_shared()) {
    std::cerr << "--scope: the rule " << rule->text() << " takes " << rule->size()
              << " values: give --scope once for each, in its order\n";
    return misused;
  }
  std::vector<std::string> values = which.scope;
  if (rule->is_shared()) values = {""};
  const std::size_t blank = which.request.find(' ');
  const std::string method = which.request.substr(0, blank);
  const std::string target = blank == std::string::npos ? "" : which.request.substr(blank + 1);
  filter.exact =
      identity_of(policy{route.policy}, rule->hash(values), key{which.key}, method, target);
  return filter;
}

}  // namespace

void add_key_choice(CLI::App& verb, key_choice& into) {
  CLI::Option* id = verb.add_option("ID", into.id, "The record's id, 16 hex digits");
  verb.add_option("--scope", into.scope, "Whose key, as the client sends it")
      ->type_name("VALUE")
      ->excludes(id);
  verb.add_option("--request", into.request,
                  "The request, where its route has a scope or key_per of its own")
      ->type_name("'METHOD /PATH'")
      ->excludes(id);
  verb.add_option("--key", into.key, "The key, without quotes")->type_name("KEY")->excludes(id);
}

std::variant<found_record, int> find_one(const opened_store& in, const key_choice& which) {
  const auto filter = filter_of(in, which);
  if (const int* code = std::get_if<int>(&filter)) return *code;
  const result<record_page> page = wait_for(in.records->find(std::get<record_filter>(filter)));
  if (!page) {
    std::cerr << "the store failed: " << page.error().message() << '\n';
    return not_started;
  }
  if (page->records.empty()) {
    std::cerr << "no such record: the key was never sent, or its retention is over\n";
    return not_applied;
  }
  return found_record{page->records.front(), page->read_at};
}

std::string to_text(instant at) {
  return gateway::to_text(std::chrono::system_clock::time_point{at.time_since_epoch()});
}

boost::json::object to_json(const record& of, const moment& read_at) {
  boost::json::object made;
  made["id"] = of.id.record_id();
  made["state"] = std::string{to_string(of.state)};
  made["attempt"] = of.attempt;
  made["route"] = of.terms.route;
  made["created_at"] = to_text(of.created_at);
  if (of.state == record_state::claimed) {
    made["lease_left_ms"] = (of.lease_until - read_at.lease).count();
  }
  if (of.state == record_state::completed) {
    made["completed_at"] = to_text(of.completed_at);
    made["readable"] = of.answer != nullptr;
    if (of.answer) {
      made["status"] = of.answer->status;
      made["body_bytes"] = of.answer->body.size();
      made["body_kept"] = body_available(of, read_at.wall);
      made["resource"] = of.answer->resource;
    }
  }
  made["expires_at"] = to_text(of.expires_at);
  return made;
}

void add_keys(CLI::App& app, int& code) {
  CLI::App* keys = app.add_subcommand("keys", "Look at keys, release or settle them");
  keys->require_subcommand(1);
  keys->footer(footer);
  add_keys_list(*keys, code);
  add_keys_show(*keys, code);
  add_keys_release(*keys, code);
  add_keys_settle(*keys, code);
}

}  // namespace callonce::cli
