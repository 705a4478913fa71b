#include <vector>

#include <callonce/stores/postgres/migrate.hpp>
#include <callonce/stores/postgres/migration.hpp>
#include <callonce/stores/postgres/place.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;

// Building the index of a table that is already full takes its time.
constexpr std::chrono::milliseconds patience = 10min;
constexpr std::chrono::milliseconds patience_for_connecting = 5s;
constexpr unsigned most_partitions = 1024;

// An update of a half-filled page stays on it; dead rows go soon, and without pauses.
constexpr std::string_view storage =
    "with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,\n"
    "  autovacuum_vacuum_cost_delay = 0)";

constexpr const char* begin_sql =
    "create schema if not exists callonce;\n"
    "create table if not exists callonce.migrations (\n"
    "  number integer primary key,\n"
    "  name text not null,\n"
    "  applied_at timestamptz not null default now()\n"
    ");\n"
    "-- Whoever comes second waits here, and finds all done.\n"
    "lock table callonce.migrations in exclusive mode;\n";

void replace(std::string& in, std::string_view mark, std::string_view by) {
  const std::size_t at = in.find(mark);
  if (at != std::string::npos) in.replace(at, mark.size(), by);
}

std::string laid_out(const char* sql, unsigned partitions) {
  std::string made{sql};
  if (partitions == 0) {
    replace(made, "@storage@", storage);
    replace(made, "@partitions@\n", "");
    return made;
  }
  std::string parts;
  for (unsigned each = 0; each < partitions; ++each) {
    parts += "create table callonce.record_" + std::to_string(each) +
             " partition of callonce.record\n  for values with (modulus " +
             std::to_string(partitions) + ", remainder " + std::to_string(each) + ") " +
             std::string{storage} + ";\n";
  }
  replace(made, "@storage@", "partition by hash (key_index)");
  replace(made, "@partitions@\n", parts);
  return made;
}

std::string step_sql(const detail::migration& step, unsigned partitions) {
  return laid_out(step.sql, partitions) +
         "\ninsert into callonce.migrations (number, name) values (" + std::to_string(step.number) +
         ", '" + step.name + "');\n";
}

std::string quoted(std::string_view text, char mark) {
  std::string made{mark};
  for (const char each : text) {
    if (each == mark) made += mark;
    made += each;
  }
  return made + mark;
}

std::string make_role(const std::string& name) {
  return "do $$ begin\n  if not exists (select from pg_roles where rolname = " +
         quoted(name, '\'') + ") then\n    create role " + quoted(name, '"') +
         " nologin;\n  end if;\nend $$;\n";
}

std::string grants(const migrate_options& with) {
  std::string made;
  if (!with.application_role.empty()) {
    const std::string role = quoted(with.application_role, '"');
    made += make_role(with.application_role) + "grant usage on schema callonce to " + role +
            ";\ngrant execute on function callonce.hold, callonce.status,\n"
            "  callonce.complete_encoded, "
            "  callonce.complete(text, integer, json, bytea, boolean),\n"
            "  callonce.complete(text, integer, json, text, boolean) to " +
            role + ";\n";
  }
  if (!with.gateway_role.empty()) {
    const std::string role = quoted(with.gateway_role, '"');
    made += make_role(with.gateway_role) + "grant usage on schema callonce to " + role +
            ";\ngrant select, insert, update, delete on all tables in schema callonce to " + role +
            ";\ngrant usage on all sequences in schema callonce to " + role +
            ";\ngrant execute on all functions in schema callonce to " + role + ";\n";
  }
  return made;
}

void check(const migrate_options& with) {
  if (with.partitions > most_partitions) throw misconfigured{"more than 1024 partitions"};
  for (const std::string* each : {&with.application_role, &with.gateway_role}) {
    if (each->find('\0') != std::string::npos || each->find("$$") != std::string::npos) {
      throw misconfigured{"a role's name must not hold a zero byte or $$"};
    }
  }
}

// Statements one by one would need a reader of SQL here: a simple query takes them all.
class migration_run {
 public:
  migration_run(const std::string& url, environment& in)
      : where_(url, in), over_(where_.insist(in.now() + patience_for_connecting)) {}

  void run(const std::string& script) {
    const std::string complaint = over_->run_script(script, where_.in().now() + patience);
    if (complaint.empty()) return;
    over_->run_script("rollback", where_.in().now() + patience_for_connecting);
    throw misconfigured{complaint};
  }

  int version() {
    const auto said = over_->ask("select coalesce(max(number), 0)::bigint from callonce.migrations",
                                 where_.in().now() + patience_for_connecting);
    if (!said.complete || !said.fault().empty()) {
      throw misconfigured{"the versions of the tables cannot be read"};
    }
    return static_cast<int>(said.answers.front().integer(0, 0));
  }

 private:
  detail::place where_;
  std::unique_ptr<detail::session> over_;
};

migrate_reply migrate_once(migration_run& over, const migrate_options& with) {
  const auto known = detail::known_migrations();
  over.run(
      "begin isolation level read committed read write;\nset local search_path = "
      "pg_catalog, pg_temp;\nset local client_min_messages = warning;\n" +
      std::string{begin_sql});
  migrate_reply made;
  made.version = over.version();
  if (made.version > known.back().number) {
    over.run("rollback");
    throw misconfigured{"the tables were made by a newer callonce (version " +
                        std::to_string(made.version) + ", this build knows " +
                        std::to_string(known.back().number) + "): run that one"};
  }
  for (const detail::migration& step : known) {
    if (step.number <= made.version) continue;
    over.run(step_sql(step, with.partitions));
    made.version = step.number;
    ++made.applied;
  }
  over.run(grants(with) + "commit");
  return made;
}

}  // namespace

migrate_reply migrate(const std::string& url, const migrate_options& with, environment& in) {
  check(with);
  migration_run over{url, in};
  try {
    return migrate_once(over, with);
  } catch (const misconfigured&) {
    // Two that make the schema at the same moment: the unique index of the catalog lets one of
    // them fail. The other's work is there now, or will be waited for.
    return migrate_once(over, with);
  }
}

std::string migration_script(const migrate_options& with) {
  check(with);
  std::string made = "begin;\n" + std::string{begin_sql};
  for (const detail::migration& step : detail::known_migrations()) {
    made += "\n-- " + std::string{step.name} + "\n" + step_sql(step, with.partitions);
  }
  return made + "\n" + grants(with) + "commit;\n";
}

}  // namespace callonce::postgres
