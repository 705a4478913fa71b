#include <array>
#include <thread>

#include <gtest/gtest.h>
#include <tests/support/postgres_shop.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// Far above what a lane takes, far below the lease of whoever it would wait for.
constexpr auto soon = 5s;

class shop {
 public:
  explicit shop(options with = {}) : name_(new_shop()), with_(std::move(with)) {}

  const std::string& name() const { return name_; }
  std::string url() const { return postgres_server::shared().url(name_); }
  store& records() {
    if (!records_) records_ = std::make_unique<store>(url(), with_);
    return *records_;
  }
  claim_reply claim(const claim_request& wish) { return wait_for(records().claim(wish)).value(); }
  write_reply complete(const fence& by, std::shared_ptr<const stored_answer> answer) {
    return wait_for(records().complete(by, std::move(answer))).value();
  }
  write_reply renew(const fence& by) { return wait_for(records().renew(by)).value(); }
  std::size_t orders() { return postgres_client{url()}.ask("select id from orders").size(); }
  void set(const std::string& setting) {
    postgres_client{url()}.ask("alter database " + name_ + " set " + setting);
  }

 private:
  const std::string name_;
  const options with_;
  std::unique_ptr<store> records_;
};

// What is true of lanes whichever statements they send.
class postgres_lane : public testing::TestWithParam<statement_form> {
 protected:
  static options any_lanes() {
    options with;
    with.statements = GetParam();
    return with;
  }
  static options one_lane() {
    options with = any_lanes();
    with.lanes = 1;
    return with;
  }
};

INSTANTIATE_TEST_SUITE_P(forms, postgres_lane,
                         testing::Values(statement_form::batches, statement_form::rows),
                         [](const auto& form) {
                           return form.param == statement_form::rows ? "rows" : "batches";
                         });

// Claims of other keys go on while an application does what it likes with one row.
void expect_others_flow(shop& in, const std::string& prefix) {
  const auto start = std::chrono::steady_clock::now();
  for (int each = 0; each < 20; ++each) {
    const claim_request other = wish_of(prefix + std::to_string(each));
    EXPECT_EQ(in.claim(other).verdict, claim_verdict::claimed);
    EXPECT_EQ(in.complete(fence_of(other), answer_of("x")).verdict, write_verdict::done);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, soon);
}

std::string refusal(const std::string& url) {
  options with;
  with.timeout = 3s;
  try {
    const store none{url, with};
    return "it started";
  } catch (const misconfigured& why) {
    return why.what();
  }
}

TEST_P(postgres_lane, L08_an_application_that_sits_in_hold_is_not_waited_for) {
  shop at{one_lane()};
  const claim_request own = wish_of("held");
  at.claim(own);
  // Its lease has lapsed, and still nobody takes it over: the owner lives.
  postgres_client{at.url()}.ask("update callonce.record set lease_until_ms = 0");
  postgres_client application{at.url()};
  application.ask("begin");
  application.ask("select callonce.hold(" + quoted(handle_of(fence_of(own))) + ")");
  EXPECT_EQ(at.renew(fence_of(own)).verdict, write_verdict::busy);
  EXPECT_EQ(at.complete(fence_of(own), answer_of("x")).verdict, write_verdict::busy);
  expect_others_flow(at, "other ");
  EXPECT_EQ(at.claim(wish_of("held")).verdict, claim_verdict::in_progress);
  EXPECT_EQ(at.claim(wish_of("held", "b")).verdict, claim_verdict::mismatch);
  application.ask("rollback");
  EXPECT_EQ(at.claim(wish_of("held")).kind, claim_kind::takeover);
}

TEST_P(postgres_lane, L07_an_uncommitted_complete_is_not_waited_for_and_then_replayed) {
  shop at{one_lane()};
  const claim_request own = wish_of("completing");
  at.claim(own);
  postgres_client application{at.url()};
  application.ask("begin; insert into orders (note) values ('one')");
  application.ask("select callonce.complete(" + quoted(handle_of(fence_of(own))) +
                  ", 201, '[[\"Content-Type\",\"text/plain\"]]', 'done')");
  EXPECT_EQ(at.claim(wish_of("completing")).verdict, claim_verdict::in_progress);
  EXPECT_EQ(at.renew(fence_of(own)).verdict, write_verdict::busy);
  expect_others_flow(at, "other ");
  application.ask("commit");
  const claim_reply met = at.claim(wish_of("completing"));
  EXPECT_EQ(met.verdict, claim_verdict::completed);
  ASSERT_TRUE(met.current.answer);
  EXPECT_EQ(met.current.answer->body.text(), "done");
  EXPECT_EQ(at.orders(), 1u);
}

TEST_P(postgres_lane, DPG2_an_uncommitted_one_transaction_insert_is_not_waited_for) {
  shop at{one_lane()};
  postgres_client application{at.url()};
  application.ask("begin");
  application.ask(insert_of(wish_of("once")));
  // In one batch with keys that are free: only the blocked one is told that somebody is at it.
  asio::io_context io;
  std::size_t won = 0;
  std::size_t in_progress = 0;
  for (int each = 0; each < 30; ++each) {
    const claim_request wish = each == 15 ? wish_of("once", "b") : wish_of(std::to_string(each));
    asio::co_spawn(io, at.records().claim(wish),
                   [&](const std::exception_ptr&, result<claim_reply> met) {
                     won += met && met->verdict == claim_verdict::claimed ? 1 : 0;
                     in_progress += met && met->verdict == claim_verdict::in_progress ? 1 : 0;
                   });
  }
  const auto start = std::chrono::steady_clock::now();
  io.run();
  EXPECT_LT(std::chrono::steady_clock::now() - start, soon);
  EXPECT_EQ(won, 29u);
  EXPECT_EQ(in_progress, 1u);
  expect_others_flow(at, "other ");
  application.ask("rollback");
  EXPECT_EQ(at.claim(wish_of("once")).kind, claim_kind::first);
}

TEST_P(postgres_lane, DPG3_a_killed_owner_leaves_nothing) {
  shop at{one_lane()};
  const claim_request own = wish_of("k");
  at.claim(own);
  postgres_client application{at.url()};
  const std::string pid = application.ask("select pg_backend_pid()").at(0);
  application.ask("begin; insert into orders (note) values ('one')");
  application.ask("select callonce.complete(" + quoted(handle_of(fence_of(own))) + ", 201)");
  postgres_client{at.url()}.ask("select pg_terminate_backend(" + pid + ", 5000)");
  EXPECT_EQ(at.renew(fence_of(own)).verdict, write_verdict::done);
  EXPECT_EQ(at.orders(), 0u);
}

TEST_P(postgres_lane, DPG1_whatever_the_isolation_of_the_database_there_is_one_winner) {
  for (const char* level : {"serializable", "repeatable read"}) {
    shop at{any_lanes()};
    at.set("default_transaction_isolation = '"s + level + "'");
    asio::io_context io;
    std::size_t won = 0;
    std::size_t failed = 0;
    store second{at.url(), any_lanes()};
    for (int each = 0; each < 100; ++each) {
      store& over = each % 2 == 0 ? at.records() : second;
      asio::co_spawn(io, over.claim(wish_of("k")),
                     [&](const std::exception_ptr&, result<claim_reply> met) {
                       won += met && met->verdict == claim_verdict::claimed ? 1 : 0;
                       failed += met ? 0 : 1;
                     });
    }
    io.run();
    EXPECT_EQ(won, 1u) << level;
    EXPECT_EQ(failed, 0u) << level;
  }
}

// What other transactions do to one is not the caller's business: 40003 says that nobody knows.
TEST_P(postgres_lane, DPG7_contention_at_a_write_and_at_its_commit_is_tried_again) {
  for (const char* code : {"40001", "40P01", "40003"}) {
    for (const char* trigger :
         {"create trigger fails before insert or update on callonce.record",
          "create constraint trigger fails after insert or update on callonce.record "
          "deferrable initially deferred"}) {
      shop at{one_lane()};
      postgres_client admin{at.url()};
      admin.ask(
          "create sequence tries; create function fail_twice() returns trigger language "
          "plpgsql as $$ begin if nextval('public.tries') <= 2 then raise exception 'no' "
          "using errcode = '"s +
          code + "'; end if; return new; end $$;" + trigger +
          " for each row execute function fail_twice()");
      const claim_request wish = wish_of("k");
      EXPECT_EQ(at.claim(wish).verdict, claim_verdict::claimed) << code << trigger;
      EXPECT_EQ(admin.ask("select last_value from tries"), std::vector<std::string>{"3"});
      admin.ask("alter sequence tries restart");
      EXPECT_EQ(at.complete(fence_of(wish), answer_of("x")).verdict, write_verdict::done) << code;
      EXPECT_EQ(admin.ask("select attempt || ' ' || state from callonce.record"),
                std::vector<std::string>{"1 2"});
    }
  }
}

TEST_P(postgres_lane, C82_killed_backends_are_replaced_and_nothing_is_lost) {
  shop at{any_lanes()};
  postgres_client admin{at.url()};
  for (int round = 0; round < 5; ++round) {
    admin.ask(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = "
        "current_database() and pid <> pg_backend_pid()");
    const claim_request wish = wish_of("round " + std::to_string(round));
    const claim_reply met = at.claim(wish);
    EXPECT_EQ(met.verdict, claim_verdict::claimed);
    EXPECT_EQ(met.current.attempt, 1u);
    EXPECT_TRUE(wait_for(at.records().find({})).has_value());
  }
}

TEST_P(postgres_lane, a_statement_timeout_of_the_role_is_a_fault_and_not_the_end) {
  shop at{any_lanes()};
  at.claim(wish_of("first"));
  options hasty = any_lanes();
  hasty.timeout = 500ms;
  at.set("statement_timeout = '60ms'");
  {
    store slow{at.url(), hasty};
    postgres_client blocker{at.url()};
    blocker.ask("set statement_timeout = 0; begin; lock table callonce.record in exclusive mode");
    EXPECT_FALSE(wait_for(slow.claim(wish_of("k"))).has_value());
    blocker.ask("rollback");
  }
  at.set("statement_timeout = 0");
  store again{at.url(), any_lanes()};
  EXPECT_EQ(wait_for(again.claim(wish_of("k")))->verdict, claim_verdict::claimed);
}

TEST_P(postgres_lane, tables_that_go_away_are_said_to_be_missing) {
  shop at{any_lanes()};
  at.claim(wish_of("k"));
  postgres_client{at.url()}.ask("set client_min_messages = warning; drop schema callonce cascade");
  const auto met = wait_for(at.records().claim(wish_of("l")));
  ASSERT_FALSE(met.has_value());
  EXPECT_EQ(met.error(), errc::misconfigured);
}

TEST_P(postgres_lane, odd_bytes_in_labels_and_reasons_are_no_fault) {
  shop at{any_lanes()};
  claim_request wish = wish_of("k\0\xFF"s);
  wish.terms.route = "caf\xE9\0!"s;
  EXPECT_EQ(at.claim(wish).verdict, claim_verdict::claimed);
  const settlement decision{wish.id, 1, new_claim_id(system_environment()), nullptr, 60s};
  const settle_reason why{"o\xC3", "\0\xF0\x28"s};
  EXPECT_EQ(wait_for(at.records().settle(decision, why))->verdict, write_verdict::done);
  record_filter which;
  which.exact = wish.id;
  const auto page = wait_for(at.records().find(which));
  ASSERT_EQ(page->records.size(), 1u);
  EXPECT_EQ(page->records.front().id, wish.id);
  EXPECT_EQ(page->records.front().terms.route,
            "caf?"
            "?!");
}

TEST(postgres_start, DPG4_C84_a_server_that_only_reads_is_refused) {
  shop at;
  at.set("default_transaction_read_only = on");
  EXPECT_NE(refusal(at.url()).find("read-only"), std::string::npos) << refusal(at.url());
}

TEST(postgres_start, settings_that_lose_commits_are_refused) {
  shop at;
  at.set("synchronous_commit = off");
  EXPECT_NE(refusal(at.url()).find("synchronous_commit"), std::string::npos);
}

TEST(postgres_start, tables_of_another_version_are_refused) {
  shop at;
  postgres_client over{at.url()};
  over.ask("insert into callonce.migrations (number, name) values (9999, 'of tomorrow')");
  EXPECT_NE(refusal(at.url()).find("newer build"), std::string::npos) << refusal(at.url());
  EXPECT_THROW(migrate(at.url()), misconfigured);
  over.ask("delete from callonce.migrations where number > 1");
  EXPECT_NE(refusal(at.url()).find("callonce migrate"), std::string::npos);
  over.ask("set client_min_messages = warning; drop schema callonce cascade");
  EXPECT_NE(refusal(at.url()).find("callonce migrate"), std::string::npos);
}

TEST(postgres_start, a_server_that_is_not_there_is_named_without_the_password) {
  const std::string why = refusal("postgres://me:s3cret@127.0.0.1:1/shop");
  EXPECT_NE(why.find("127.0.0.1:1"), std::string::npos) << why;
  EXPECT_EQ(why.find("s3cret"), std::string::npos) << why;
  EXPECT_EQ(refusal("postgres://me:s3cret@[/x").find("s3cret"), std::string::npos);
}

TEST(postgres_start, of_several_hosts_the_one_that_writes_is_taken) {
  shop at;
  const std::string port = std::to_string(postgres_server::shared().port());
  store over{"postgres://postgres@127.0.0.1:1,127.0.0.1:" + port + "/" + at.name() +
             "?target_session_attrs=read-write"};
  EXPECT_EQ(wait_for(over.claim(wish_of("k")))->verdict, claim_verdict::claimed);
  EXPECT_NE(refusal("host=a,b,c port=1,2").find("more ports"), std::string::npos);
}

TEST(postgres_start, identity_rules_are_kept_and_others_refused) {
  shop at;
  EXPECT_FALSE(at.records().identity_rules());
  at.records().bind_identity_rules("header:A");
  at.records().bind_identity_rules("header:A");
  EXPECT_THROW(at.records().bind_identity_rules("header:B"), misconfigured);
  EXPECT_EQ(at.records().identity_rules(), "header:A");
  at.records().bind_identity_rules("header:B", true);
  EXPECT_EQ(store{at.url()}.identity_rules(), "header:B");
}

TEST(postgres_migrate, two_at_once_make_the_tables_once) {
  postgres_server& server = postgres_server::shared();
  for (int round = 0; round < 3; ++round) {
    const std::string name = server.new_database();
    std::array<int, 4> applied{};
    std::vector<std::thread> all;
    for (int& each : applied) {
      all.emplace_back([&each, url = server.url(name)] { each = migrate(url).applied; });
    }
    for (std::thread& each : all) each.join();
    std::sort(applied.begin(), applied.end());
    EXPECT_EQ(applied[2], 0) << "only one had something to do";
    EXPECT_GT(applied[3], 0);
  }
}

TEST(postgres_migrate, the_printed_script_makes_the_same_tables) {
  postgres_server& server = postgres_server::shared();
  const std::string name = server.new_database();
  migrate_options with;
  with.partitions = 2;
  postgres_client{server.url(name)}.ask(migration_script(with));
  EXPECT_EQ(migrate(server.url(name)).applied, 0);
  store over{server.url(name)};
  EXPECT_EQ(wait_for(over.claim(wish_of("k")))->verdict, claim_verdict::claimed);
}

TEST(postgres_migrate, a_gateway_that_does_not_own_the_tables_can_work) {
  postgres_server& server = postgres_server::shared();
  const std::string name = server.new_database();
  migrate_options with;
  with.gateway_role = "callonce gateway \"1\"";
  migrate(server.url(name), with);
  postgres_client{server.url(name)}.ask("alter role \"callonce gateway \"\"1\"\"\" login");
  store over{"postgres://callonce%20gateway%20%221%22@127.0.0.1:" + std::to_string(server.port()) +
             "/" + name};
  const claim_request wish = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(wish))->verdict, claim_verdict::claimed);
  EXPECT_EQ(wait_for(over.complete(fence_of(wish), answer_of("x")))->verdict, write_verdict::done);
  EXPECT_TRUE(wait_for(over.purge(10)).has_value());
  EXPECT_THROW(postgres::migrate(server.url(name),
                                 {.partitions = 0, .application_role = "a$$b", .gateway_role = {}}),
               misconfigured);
}

}  // namespace
}  // namespace callonce::postgres
