#include <sqlite3.h>

#include <callonce/stores/sqlite/migrate.hpp>
#include <callonce/stores/sqlite/migration.hpp>
#include <callonce/stores/sqlite/misconfigured.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;

// "callonce", as far as four bytes go: lets file(1) and an operator tell what the file is.
constexpr const char* mark_file = "pragma application_id = 0x63616c6c";
constexpr std::chrono::milliseconds patience = 5s;

std::int64_t ask_number(database& in, const char* sql) {
  statement asked{in, sql};
  return asked.step() ? asked.integer(0) : 0;
}

void expect(bool good, const std::string& what, const database& in) {
  if (!good) throw misconfigured{what + ": " + in.message()};
}

bool is_empty(database& in) {
  return ask_number(in, "select count(*) from sqlite_schema") == 0;
}

void apply(database& in, const migration& step, instant wall) {
  const std::string what = "migration " + std::string{step.name} + " failed";
  expect(in.execute(step.sql) == SQLITE_OK, what, in);
  statement record{in,
                   "insert into callonce_migrations (number, name, applied_at_ms) "
                   "values (?1, ?2, ?3)"};
  record.bind(1, std::int64_t{step.number});
  record.bind(2, std::string_view{step.name});
  record.bind(3, std::int64_t{wall.time_since_epoch().count()});
  record.run();
  expect(in.fault() == SQLITE_OK, what, in);
}

}  // namespace

void migrate(database& in, const clocks& by) {
  const std::span<const migration> known = known_migrations();
  const auto finish = [&](const char* sql) {
    expect(in.execute(sql) == SQLITE_OK, "the file's tables cannot be made", in);
  };
  in.clear_fault();
  expect(in.begin(patience), "the file cannot be written", in);
  // Tables may stand in an application's own file; that one keeps its own mark.
  if (is_empty(in)) finish(mark_file);
  finish(
      "create table if not exists callonce_migrations (number integer primary key, name text not "
      "null, applied_at_ms integer not null) strict");
  const auto applied = ask_number(in, "select coalesce(max(number), 0) from callonce_migrations");
  if (applied > known.back().number) {
    throw misconfigured{"the file was written by a newer callonce (its tables have version " +
                        std::to_string(applied) + ", this build knows " +
                        std::to_string(known.back().number) + "): run that one"};
  }
  for (const migration& step : known) {
    if (step.number > applied) apply(in, step, by.wall());
  }
  finish("commit");
}

}  // namespace callonce::sqlite::detail
