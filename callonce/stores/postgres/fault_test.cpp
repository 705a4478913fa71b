// What a store does when its server, or the way to it, fails at any moment.

#include <thread>

#include <gtest/gtest.h>
#include <tests/support/postgres_shop.hpp>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testkit::gate_action;
using testkit::gate_rule;
using testkit::tcp_gate;

struct gated_store {
  explicit gated_store(std::chrono::milliseconds timeout = 20s,
                       statement_form form = statement_form::batches) {
    options with;
    with.lanes = 1;
    with.statements = form;
    with.timeout = timeout;
    records = std::make_unique<store>(postgres_server::url_at(gate.port(), name), with);
  }
  std::string direct() const { return postgres_server::shared().url(name); }
  /// Of each record its attempt, its state and the number of its answers.
  std::vector<std::string> rows() {
    return postgres_client{direct()}.ask(
        "select attempt || ' ' || state || ' ' || (select count(*) from callonce.answer a where "
        "a.id = r.id) from callonce.record r");
  }

  const std::string name = new_shop();
  tcp_gate gate{postgres_server::shared().port()};
  std::unique_ptr<store> records;
};

// The statements of a round trip go out at once, so that a cut falls between two of them on the
// server's side only; each pattern is the text of one.
void expect_no_loss(statement_form form, const std::vector<std::string>& statements) {
  const std::vector<gate_action> actions{gate_action::cut_before(), gate_action::cut_after(),
                                         gate_action::lose_reply()};
  for (const std::string& statement : statements) {
    for (const gate_action& each : actions) {
      gated_store at{20s, form};
      const gate_rule rule = at.gate.on_request(statement, each);
      const claim_request wish = wish_of("k");
      const auto met = wait_for(at.records->claim(wish));
      ASSERT_TRUE(met.has_value()) << statement;
      EXPECT_EQ(met->verdict, claim_verdict::claimed) << statement;
      EXPECT_EQ(met->current.attempt, 1u) << statement;
      const auto done = wait_for(at.records->complete(fence_of(wish), answer_of("x")));
      ASSERT_TRUE(done.has_value()) << statement;
      EXPECT_EQ(done->verdict, write_verdict::done) << statement;
      EXPECT_TRUE(rule.fired()) << statement;
      EXPECT_EQ(at.rows(), (std::vector<std::string>{"1 2 1"})) << statement;
    }
  }
}

TEST(postgres_fault, X03_X04_K34_C70_a_cut_around_each_statement_loses_and_doubles_nothing) {
  expect_no_loss(statement_form::batches,
                 {"begin isolation", "claim_batch", "write_batch", "commit"});
}

TEST(postgres_fault, X03_X04_K34_nor_does_one_where_rows_are_asked_one_by_one) {
  expect_no_loss(statement_form::rows,
                 {"begin isolation", "insert into callonce.record", "for no key update",
                  "update callonce.record", "insert into callonce.answer", "commit"});
}

TEST(postgres_fault, D55_only_the_reply_of_a_commit_is_lost) {
  for (const statement_form form : {statement_form::batches, statement_form::rows}) {
    gated_store at{20s, form};
    const gate_rule rule = at.gate.on_reply("COMMIT\0"s, gate_action::cut_before());
    const claim_request wish = wish_of("k");
    const auto met = wait_for(at.records->claim(wish));
    EXPECT_TRUE(rule.fired());
    EXPECT_EQ(met->verdict, claim_verdict::claimed);
    EXPECT_EQ(met->kind, claim_kind::repeat) << "it was there, under its own claim_id";
    EXPECT_EQ(at.rows(), (std::vector<std::string>{"1 1 0"}));
  }
}

// The row is held by the transaction of a connection that is gone: asked again, never in_progress.
TEST(postgres_fault, D55_a_claim_whose_transaction_is_still_open_is_asked_again) {
  for (const statement_form form : {statement_form::batches, statement_form::rows}) {
    gated_store at{20s, form};
    claim_request lapsed = wish_of("k");
    ASSERT_EQ(wait_for(at.records->claim(lapsed))->verdict, claim_verdict::claimed);
    postgres_client admin{at.direct()};
    admin.ask("update callonce.record set lease_until_ms = 0");
    postgres_client holder{at.direct()};
    const gate_rule rule = at.gate.on_request("begin isolation", gate_action::cut_before());
    holder.ask("begin; select 1 from callonce.record for update");
    const auto met = wait_for(at.records->claim(wish_of("k")));
    EXPECT_TRUE(rule.fired());
    EXPECT_EQ(met->verdict, claim_verdict::busy);
  }
}

// The same for an insert that nobody can see yet.
TEST(postgres_fault, D55_a_repeated_claim_that_meets_an_uncommitted_insert_is_busy) {
  for (const statement_form form : {statement_form::batches, statement_form::rows}) {
    gated_store at{20s, form};
    postgres_client holder{at.direct()};
    holder.ask("begin");
    holder.ask(insert_of(wish_of("k")));
    const gate_rule rule = at.gate.on_request("begin isolation", gate_action::cut_before());
    EXPECT_EQ(wait_for(at.records->claim(wish_of("k")))->verdict, claim_verdict::busy);
    EXPECT_TRUE(rule.fired());
  }
}

TEST(postgres_fault, X01_C76_a_server_that_says_nothing_is_given_up_and_found_again) {
  gated_store at{2s};
  ASSERT_TRUE(wait_for(at.records->claim(wish_of("before"))).has_value());
  at.gate.black_hole();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(wait_for(at.records->claim(wish_of("meanwhile"))).has_value());
  EXPECT_FALSE(wait_for(at.records->find({})).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  at.gate.open();
  for (int tries = 0; tries < 50; ++tries) {
    if (wait_for(at.records->claim(wish_of("after " + std::to_string(tries)))).has_value()) break;
  }
  EXPECT_TRUE(wait_for(at.records->claim(wish_of("after"))).has_value());
  EXPECT_TRUE(wait_for(at.records->find({})).has_value());
}

TEST(postgres_fault, X01_C76_a_server_that_refuses_connections_is_found_again) {
  gated_store at{1s};
  ASSERT_TRUE(wait_for(at.records->claim(wish_of("before"))).has_value());
  at.gate.refuse();
  const auto met = wait_for(at.records->claim(wish_of("meanwhile")));
  ASSERT_FALSE(met.has_value());
  EXPECT_TRUE(met.error() == errc::unavailable || met.error() == errc::in_doubt);
  at.gate.open();
  for (int tries = 0; tries < 50; ++tries) {
    if (wait_for(at.records->claim(wish_of("after " + std::to_string(tries)))).has_value()) break;
  }
  EXPECT_TRUE(wait_for(at.records->claim(wish_of("after"))).has_value());
}

TEST(postgres_fault, X13_a_killed_server_forgets_nothing_that_was_acknowledged) {
  postgres_server own;
  migrate(own.url());
  store records{own.url()};
  std::vector<claim_request> won;
  for (int round = 0; round < 3; ++round) {
    for (int each = 0; each < 20; ++each) {
      const claim_request wish = wish_of(std::to_string(round) + "/" + std::to_string(each));
      ASSERT_EQ(wait_for(records.claim(wish))->verdict, claim_verdict::claimed);
      won.push_back(wish);
    }
    own.kill();
    own.start();
    for (int tries = 0; tries < 50; ++tries) {
      if (wait_for(records.claim(wish_of("again"))).has_value()) break;
    }
  }
  for (const claim_request& each : won) {
    const auto done = wait_for(records.complete(fence_of(each), answer_of("x")));
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->verdict, write_verdict::done);
  }
}

// DPG7: what other transactions do to a batch is not the caller's business.
TEST(postgres_fault, DPG7_deadlocks_and_lock_waits_of_others_are_tried_again) {
  for (const statement_form form : {statement_form::batches, statement_form::rows}) {
    gated_store at{20s, form};
    postgres_client blocker{at.direct()};
    blocker.ask("begin; lock table callonce.record in exclusive mode");
    std::thread frees{[&] { blocker.ask("select pg_sleep(0.3); commit"); }};
    const auto met = wait_for(at.records->claim(wish_of("k")));
    frees.join();
    ASSERT_TRUE(met.has_value());
    EXPECT_TRUE(met->verdict == claim_verdict::claimed ||
                met->verdict == claim_verdict::in_progress);
    EXPECT_EQ(wait_for(at.records->claim(wish_of("l")))->verdict, claim_verdict::claimed);
  }
}

}  // namespace
}  // namespace callonce::postgres
