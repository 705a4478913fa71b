#include <map>

#include <tests/support/postgres_server.hpp>

#include <callonce/stores/postgres/migrate.hpp>
#include <callonce/stores/postgres/store.hpp>

#include "subjects.hpp"

namespace callonce::exam {
namespace {

// A database with the tables, whose clocks stand until they are moved; copied for each subject.
const std::string& prototype(unsigned partitions) {
  static std::map<unsigned, std::string> made;
  std::string& name = made[partitions];
  if (!name.empty()) return name;
  tests::postgres_server& server = tests::postgres_server::shared();
  name = server.new_database();
  postgres::migrate_options with;
  with.partitions = partitions;
  postgres::migrate(server.url(name), with);
  tests::postgres_client over{server.url(name)};
  over.ask(
      "create table public.standing (lease bigint, wall bigint);"
      "insert into public.standing values (1000000, 1700000000000);"
      "create or replace function callonce.wall_clock() returns bigint language sql volatile "
      "as 'select wall from public.standing';"
      "create or replace function callonce.lease_clock() returns bigint language sql volatile "
      "as 'select lease from public.standing'");
  return name;
}

// Two stores over one database, as two processes would have them.
class postgres_subject final : public testkit::exam_subject {
 public:
  postgres_subject(unsigned partitions, postgres::statement_form form)
      : name_(server_.new_database(prototype(partitions))), form_(form) {
    restart();
  }

  callonce::store& first() override { return *first_; }
  callonce::store& second() override { return *second_; }
  void advance(std::chrono::milliseconds lease, std::chrono::milliseconds wall) override {
    clock_.ask("update public.standing set lease = lease + " + std::to_string(lease.count()) +
               ", wall = wall + " + std::to_string(wall.count()));
  }
  void restart() override {
    first_.reset();
    second_.reset();
    first_ = open();
    second_ = open();
  }

 private:
  std::unique_ptr<postgres::store> open() const {
    postgres::options with;
    with.timeout = std::chrono::seconds{60};  // A slow disk must not fail a race.
    with.statements = form_;
    with.clocks = {"callonce.lease_clock()", "callonce.wall_clock()"};  // Those that stand.
    return std::make_unique<postgres::store>(server_.url(name_), with);
  }

  tests::postgres_server& server_ = tests::postgres_server::shared();
  const std::string name_;
  const postgres::statement_form form_;
  tests::postgres_client clock_{server_.url(name_)};
  std::unique_ptr<postgres::store> first_;
  std::unique_ptr<postgres::store> second_;
};

}  // namespace

testkit::exam_factory postgres_subjects(unsigned partitions, postgres::statement_form form) {
  return [=] { return std::make_unique<postgres_subject>(partitions, form); };
}

}  // namespace callonce::exam
