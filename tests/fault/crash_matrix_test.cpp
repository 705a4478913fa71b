// The crash matrix in class atomic: whatever dies and wherever, a key has one order or none, and no
// client hears of an order that is not there.

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <tests/fault/shop.hpp>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::fault {
namespace {

using namespace std::string_literals;
using testkit::gate_action;
using testkit::gate_rule;
using testkit::tcp_gate;

TEST(crash_matrix, nothing_dies_and_the_order_is_there) {
  shop in;
  const auto at = in.gateway();
  const reply first = post(*at, "k");
  EXPECT_EQ(first.status, 201);
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
  const reply metrics = cli::test::ask(at->admin(), "GET", "/metrics");
  EXPECT_NE(metrics.body.find("callonce_completions_total{by=\"application\"} 1"),
            std::string::npos);
  EXPECT_NE(metrics.body.find("callonce_completions_total{by=\"gateway\"} 0"), std::string::npos);
  EXPECT_EQ(first.head.find("Idempotency-Claim"), std::string::npos);
}

TEST(crash_matrix, K1_a_client_that_dies_in_its_upload_leaves_nothing) {
  shop in;
  const auto at = in.gateway();
  {
    cli::test::connection client{at->port()};
    std::string half = cli::test::request_text(
        "POST", "/orders", {"X-Api-Key: tenant", "Idempotency-Key: k"}, "two books");
    client.send(half.substr(0, half.size() - 3));
  }
  const reply first = post(*at, "k");
  EXPECT_EQ(first.status, 201);
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K2_a_gateway_that_dies_before_its_claim_leaves_nothing) {
  shop in;
  auto doomed = in.gateway();
  doomed->signal(SIGSTOP);
  cli::test::connection client{doomed->port()};
  client.send(cli::test::request_text("POST", "/orders",
                                      {"X-Api-Key: tenant", "Idempotency-Key: k"}, "two books"));
  doomed->signal(SIGKILL);
  doomed->wait();
  const auto at = in.gateway();
  EXPECT_FALSE(is_marked(post(*at, "k")));
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K3_a_server_that_dies_before_the_claim_is_committed) {
  shop in;
  tcp_gate gate{in.server().port()};
  gateway_options with;
  with.store = tests::postgres_server::url_at(gate.port(), in.database());
  const auto at = in.gateway(with);
  const gate_rule rule = gate.on_request("claim_batch", gate_action::cut_before());
  std::thread client{[&] { post(*at, "k"); }};
  EXPECT_TRUE(rule.wait_fired(10s));
  in.server().kill();
  in.server().start();
  client.join();
  expect_one_order(in, *at, "k");
}

//
TEST(crash_matrix, K4_a_claim_whose_acknowledgement_is_lost_is_still_ours) {
  shop in;
  tcp_gate gate{in.server().port()};
  gateway_options with;
  with.store = tests::postgres_server::url_at(gate.port(), in.database());
  const auto at = in.gateway(with);
  const gate_rule rule = gate.on_reply("COMMIT\0"s, gate_action::cut_before());
  const reply first = post(*at, "k");
  EXPECT_TRUE(rule.fired());
  EXPECT_EQ(first.status, 201);
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K5_K6_K11_K12_K14_the_gateway_dies_at_each_step) {
  for (const auto& [fact, is_done] :
       std::vector<std::pair<std::string, bool>>{{"claimed", false},
                                                 {"dispatched", false},
                                                 {"answered", true},
                                                 {"co_committed", true},
                                                 {"sent", true}}) {
    shop in;
    gateway_options with;
    with.fault = "kill " + fact;
    auto doomed = in.gateway(with);
    post(*doomed, "k");
    doomed->wait();
    const auto at = in.gateway();
    const reply next = post(*at, "k");
    if (is_done) {
      EXPECT_EQ(next.status, 201) << fact;
      EXPECT_TRUE(is_marked(next)) << fact;
    } else {
      EXPECT_EQ(next.status, 409) << fact;
      EXPECT_TRUE(has_code(next, "idempotency_key_in_progress")) << fact << next.body;
    }
    expect_one_order(in, *at, "k");
  }
}

// K6, K7: nothing was committed, so the client is told so, and its retry makes the order once.
TEST(crash_matrix, K6_K7_the_application_dies_before_its_commit) {
  for (const char* step :
       {"die-before", "die-after-hold", "die-after-effect", "die-after-complete"}) {
    shop in;
    const auto at = in.gateway();
    EXPECT_EQ(post(*at, "k", step).status, 502) << step;
    EXPECT_EQ(in.orders("k"), 0u) << step;
    const reply next = post(*at, "k");
    EXPECT_EQ(next.status, 409) << step;
    expect_one_order(in, *at, "k");
  }
}

TEST(crash_matrix, K7_the_applications_own_connection_is_cut) {
  for (const char* statement :
       {"begin", "callonce.hold", "insert into orders", "callonce.complete"}) {
    shop in;
    tcp_gate gate{in.server().port()};
    in.start_application(tests::postgres_server::url_at(gate.port(), in.database()));
    const auto at = in.gateway();
    const gate_rule rule = gate.on_request(statement, gate_action::cut_before());
    EXPECT_EQ(post(*at, "k").status, 503) << statement << ": the application says so";
    EXPECT_TRUE(rule.fired());
    EXPECT_EQ(in.orders("k"), 0u) << statement;
    const reply next = post(*at, "k");
    EXPECT_EQ(next.status, 201) << statement << ": released by its 503, so it runs at once";
    expect_one_order(in, *at, "k");
  }
}

// K8 cannot be in class atomic: an effect without its completion.
TEST(crash_matrix, K9_the_applications_commit_is_not_acknowledged) {
  shop in;
  tcp_gate gate{in.server().port()};
  in.start_application(tests::postgres_server::url_at(gate.port(), in.database()));
  const auto at = in.gateway();
  const gate_rule rule = gate.on_reply("COMMIT\0"s, gate_action::cut_before());
  const reply first = post(*at, "k");
  EXPECT_TRUE(rule.fired());
  EXPECT_EQ(first.status, 201) << "the application said 503, the record knows better";
  EXPECT_FALSE(is_marked(first));
  expect_one_order(in, *at, "k");
}

TEST(crash_matrix, K10_C77_a_completion_whose_acknowledgement_is_lost_is_asked_again) {
  shop in;
  cli::test::application counting;
  tcp_gate gate{in.server().port()};
  gateway_options with;
  with.store = tests::postgres_server::url_at(gate.port(), in.database());
  with.upstream = counting.url();
  const auto at = in.gateway(with);
  const gate_rule rule = gate.on_reply("COMMIT\0"s, gate_action::cut_before(), 1);
  const reply first = post(*at, "k");
  EXPECT_TRUE(rule.fired());
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.head.find("Idempotency-Recorded"), std::string::npos);
  EXPECT_TRUE(is_marked(post(*at, "k")));
  EXPECT_EQ(counting.calls(), 1);
}

TEST(crash_matrix, K15_X08_the_application_is_gone_after_its_commit) {
  for (const char* step : {"die-after-commit", "cut-after-commit", "502-after-commit",
                           "500-after-commit", "lie-after-commit", "die-committing"}) {
    shop in;
    const auto at = in.gateway();
    const reply first = post(*at, "k", step);
    EXPECT_EQ(first.status, 201) << step << first.body;
    EXPECT_FALSE(is_marked(first)) << step;
    EXPECT_EQ(first.body.substr(0, 6), "order ") << step;
    expect_one_order(in, *at, "k");
  }
}

}  // namespace
}  // namespace callonce::fault
