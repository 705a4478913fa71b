#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/store_access.hpp>
#include <cli/verbs.hpp>

#include <callonce/stores/postgres/migrate.hpp>

namespace callonce::cli {
namespace {

struct options {
  store_options store;
  postgres::migrate_options with;
  bool print = false;
};

int migrate(const options& asked) {
  if (asked.print) {
    std::cout << postgres::migration_script(asked.with);
    return done;
  }
  const auto of = settings_of(asked.store);
  if (!of) return misused;
  if (of->store.server.empty()) {
    std::cerr << of->store.shown() << ": only a PostgreSQL database needs this; a gateway makes "
              << "the tables of its own file\n";
    return misused;
  }
  try {
    const postgres::migrate_reply made = postgres::migrate(of->store.server, asked.with);
    std::cout << of->store.shown() << ": the tables have version " << made.version << "; "
              << made.applied << " steps were missing\n";
    return done;
  } catch (const postgres::misconfigured& wrong) {
    std::cerr << of->store.shown() << ": " << wrong.what() << '\n';
    return not_started;
  }
}

constexpr const char* footer =
    R"(Makes the schema `callonce` in the application's own database, or brings it up to
date, so that an application can complete a key in its own transaction. Running it
again does nothing, two at once are safe. Gateways refuse tables of another version.

Examples:
  callonce migrate --store postgres://owner@db/shop --app-role shop --gateway-role callonce
  callonce migrate --print --partitions 8 | less       # for your own migrations

Exit codes: 0 done; 1 command line or configuration; 2 the database refuses: the line
says why, and nothing was changed)";

}  // namespace

void add_migrate(CLI::App& app, int& code) {
  auto asked = std::make_shared<options>();
  CLI::App* verb = app.add_subcommand("migrate", "Make or update the tables in PostgreSQL");
  add_store_options(*verb, asked->store);
  verb->add_flag("--print", asked->print, "Show the SQL for an empty database instead");
  const auto add = [&](const char* name, auto& into, const char* type, const char* help) {
    verb->add_option(name, into, help)->type_name(type);
  };
  add("--partitions", asked->with.partitions, "N",
      "Hash partitions of the record table, when it is made (0: one table)");
  add("--app-role", asked->with.application_role, "ROLE",
      "May call hold, complete and status, and nothing else; made if need be");
  add("--gateway-role", asked->with.gateway_role, "ROLE",
      "Gateways work under it, where they are not the owner; made if need be");
  verb->footer(footer);
  verb->callback([asked, &code] { code = migrate(*asked); });
}

}  // namespace callonce::cli
