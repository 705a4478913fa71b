// The crash matrix in class atomic, where time matters: late answers, leases, clocks that jump.

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <tests/fault/shop.hpp>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::fault {
namespace {

using namespace std::string_literals;
using testkit::tcp_gate;

TEST(crash_matrix, K16_the_answer_is_late_and_the_commit_within_the_lease) {
  shop in;
  const auto at = in.gateway();
  const reply first = post(*at, "k", "slow");
  EXPECT_EQ(first.status, 201) << "the row is held, so it was waited for: " << first.body;
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K16_a_silent_application_that_has_committed) {
  shop in;
  const auto at = in.gateway();
  const reply first = post(*at, "k", "hang-after-commit");
  EXPECT_EQ(first.status, 201);
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
}

// The gateway is gone, so that nobody renews; the application works on past the lease.
TEST(crash_matrix, K17_L05_an_application_that_commits_after_the_takeover_is_rolled_back) {
  shop in;
  gateway_options with;
  with.fault = "kill dispatched";
  const auto at = in.gateway();
  for (const bool holds : {false, true}) {
    const std::string key = holds ? "held" : "free";
    auto doomed = in.gateway();
    std::thread client{[&] { post(*doomed, key, holds ? "slow" : "slow no-hold"); }};
    // Once the order is in its open transaction, its gateway dies.
    tests::postgres_client watcher{in.url()};
    while (watcher
               .ask("select 1 from pg_stat_activity where query like 'select pg_sleep(3)' and "
                    "state = 'active' and datname = current_database()")
               .empty()) {
    }
    doomed->signal(SIGKILL);
    doomed->wait();
    client.join();
    in.let_leases_lapse();
    const reply next = post(*at, key);
    if (holds) {
      EXPECT_EQ(next.status, 409) << "L-08: its owner lives";
    } else {
      EXPECT_EQ(next.status, 201);
    }
    while (!watcher
                .ask("select 1 from pg_stat_activity where query like 'select pg_sleep(3)' and "
                     "state = 'active' and datname = current_database()")
                .empty()) {
    }
    expect_one_order(in, *at, key);
  }
}

TEST(crash_matrix, K18_L13_a_gateway_that_stood_still_past_its_lease) {
  shop in;
  gateway_options with;
  with.fault = "stop answered";
  const auto stopped = in.gateway(with);
  const auto at = in.gateway();
  cli::test::connection client{stopped->port()};
  client.send(cli::test::request_text("POST", "/orders",
                                      {"X-Api-Key: tenant", "Idempotency-Key: k"}, "two books"));
  while (in.orders("k") == 0) {
  }
  const reply other = settle(*at, "k");
  EXPECT_TRUE(is_marked(other)) << "the application had committed";
  stopped->await_stopped();
  stopped->signal(SIGCONT);
  const reply late = client.read();
  EXPECT_EQ(late.status, 201);
  EXPECT_EQ(late.body, other.body);
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K19_C20_a_gateway_cut_off_from_its_store_says_no_success_that_it_cannot_know) {
  shop in;
  tcp_gate gate{in.server().port()};
  gateway_options with;
  with.store = tests::postgres_server::url_at(gate.port(), in.database());
  with.fault = "stop dispatched";
  const auto at = in.gateway(with);
  cli::test::connection client{at->port()};
  client.send(cli::test::request_text("POST", "/orders",
                                      {"X-Api-Key: tenant", "Idempotency-Key: k"}, "two books"));
  at->await_stopped();
  gate.black_hole();
  at->signal(SIGCONT);
  const reply first = client.read();
  EXPECT_TRUE(first.status == 503 || first.status == 504) << first.head;
  EXPECT_EQ(in.orders("k"), 1u);
  gate.open();
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K24_commits_that_may_be_forgotten_are_refused_at_start) {
  shop in;
  tests::postgres_client{in.url()}.ask("alter database " + in.database() +
                                       " set synchronous_commit = off");
  EXPECT_THROW(in.gateway(), std::runtime_error);
}

// L-17: the days of a gateway's clock are not asked for.
TEST(crash_matrix, K26_L17_C23_a_gateways_clock_is_a_day_off) {
  shop in;
  const auto ahead = in.gateway();
  const auto behind = in.gateway();
  ahead->signal(SIGUSR1);
  behind->signal(SIGUSR2);
  EXPECT_EQ(post(*behind, "crashed", "die-before").status, 502);
  EXPECT_EQ(post(*ahead, "crashed").status, 409) << "no early takeover";
  EXPECT_EQ(post(*ahead, "done").status, 201);
  EXPECT_TRUE(is_marked(post(*behind, "done")));
  expect_one_order(in, *ahead, "crashed");
  expect_one_order(in, *behind, "done");
}

TEST(crash_matrix, K27_K28_the_stores_clock_jumps) {
  shop in;
  const auto at = in.gateway();
  tests::postgres_client admin{in.url()};
  const auto jump = [&](const std::string& by) {
    for (const char* clock : {"wall_clock", "lease_clock"}) {
      admin.ask("create or replace function callonce."s + clock +
                "() returns bigint language sql volatile as $$ select (date_part('epoch', "
                "clock_timestamp()) * 1000)::bigint + " +
                by + " $$");
    }
  };
  std::thread owner{[&] { post(*at, "k", "slow no-hold"); }};
  while (admin.ask("select 1 from callonce.record").empty()) {
  }
  jump("3600000");
  // Taken over too early: the first owner's transaction is what fails.
  const auto other = in.gateway();
  const reply next = post(*other, "k");
  owner.join();
  EXPECT_EQ(next.status, 201) << next.body;
  expect_one_order(in, *other, "k");
  jump("-3600000");
  expect_one_order(in, *other, "l");
}

TEST(crash_matrix, K31_a_gateway_that_is_stopped_in_the_middle_leaves_the_lease) {
  shop in;
  gateway_options with;
  auto stopping = in.gateway(with);
  std::thread client{[&] { post(*stopping, "k", "slow"); }};
  tests::postgres_client watcher{in.url()};
  while (
      watcher.ask("select 1 from callonce.record where held").empty() &&
      watcher.ask("select 1 from pg_stat_activity where query like 'select pg_sleep(3)'").empty()) {
  }
  stopping->signal(SIGTERM);
  // A second one ends it at once; two that come together are one.
  while (cli::test::ask(stopping->admin(), "GET", "/readyz").status == 200) {
  }
  stopping->signal(SIGTERM);
  EXPECT_NE(stopping->wait(), 0);
  client.join();
  const auto at = in.gateway();
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K32_two_gateways_and_one_key) {
  shop in;
  const auto first = in.gateway();
  const auto second = in.gateway();
  std::vector<std::thread> all;
  std::vector<reply> said(40);
  for (std::size_t each = 0; each < said.size(); ++each) {
    all.emplace_back([&, each] { said[each] = post(each % 2 == 0 ? *first : *second, "k"); });
  }
  for (std::thread& each : all) each.join();
  std::size_t unmarked = 0;
  for (const reply& each : said) {
    EXPECT_TRUE(each.status == 201 || each.status == 409) << each.status << each.body;
    unmarked += each.status == 201 && !is_marked(each) ? 1 : 0;
  }
  EXPECT_EQ(unmarked, 1u);
  expect_one_order(in, *second, "k");
}

TEST(crash_matrix, K33_a_request_that_kills_its_application_each_time) {
  shop in;
  gateway_options with;
  with.defaults = "max_attempts = 2\n";
  const auto at = in.gateway(with);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(post(*at, "k", "die-before").status, 502) << attempt;
    in.let_leases_lapse();
  }
  const reply last = post(*at, "k");
  EXPECT_EQ(last.status, 409);
  EXPECT_TRUE(has_code(last, "idempotency_outcome_unknown")) << last.body;
  EXPECT_EQ(in.orders("k"), 0u);
}

}  // namespace
}  // namespace callonce::fault
