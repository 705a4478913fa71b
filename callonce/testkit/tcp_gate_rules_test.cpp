#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <callonce/testkit/tcp_gate_test.hpp>

namespace callonce::testkit {
namespace {

using namespace ends;

using tcp_gate_rules_test = gated;

// The gate has read so many bytes of the client, and done all it will about them.
void await_requests_read(const tcp_gate& gate, std::uint64_t count) {
  EXPECT_TRUE(gate.wait_counts([&](auto& now) { return now.requests.read == count; }, patience));
}

TEST_F(tcp_gate_rules_test, cut_before_keeps_the_pattern_from_the_server) {
  pair both = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::cut_before());
  both.client.send("BEGIN;COM");
  EXPECT_EQ(both.server.read(6), "BEGIN;");
  await_requests_read(gate_, 9);
  EXPECT_TRUE(both.server.hears_nothing());
  EXPECT_FALSE(rule.fired());
  both.client.send("MIT;");
  EXPECT_TRUE(rule.wait_done(patience));
  EXPECT_EQ(both.client.rest(), "");
  EXPECT_EQ(both.client.ended(), ending::reset);
  EXPECT_EQ(both.server.rest(), "");
  EXPECT_EQ(both.server.ended(), ending::in_order);
}

TEST_F(tcp_gate_rules_test, cut_after_lets_the_server_have_it_and_the_client_not_know) {
  pair both = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::cut_after());
  both.client.send("BEGIN;COM");
  EXPECT_EQ(both.server.read(9), "BEGIN;COM");
  both.client.send("MIT;x");
  EXPECT_TRUE(rule.wait_done(patience));
  EXPECT_EQ(both.server.read(5), "MIT;x");
  EXPECT_TRUE(both.server.send("done")) << "the server may answer, to nobody";
  EXPECT_EQ(both.server.rest(), "");
  EXPECT_EQ(both.server.ended(), ending::in_order);
  EXPECT_EQ(both.client.rest(), "");
  EXPECT_EQ(both.client.ended(), ending::reset);
  both.server.hang_up();
  await_present(0);
}

TEST_F(tcp_gate_rules_test, cut_after_delivers_a_large_request_to_a_slow_server) {
  pair both = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::cut_after());
  const std::string request = std::string(8 << 20, 'x') + "COMMIT";
  std::thread sends{[&] { both.client.send(request); }};
  EXPECT_TRUE(both.server.read(request.size()) == request);
  EXPECT_TRUE(rule.wait_done(patience));
  sends.join();
}

TEST_F(tcp_gate_rules_test, lose_reply_waits_until_the_server_has_answered) {
  pair both = connect();
  expect_talk(both);
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::lose_reply());
  both.client.send("COMMIT;");
  EXPECT_EQ(both.server.read(7), "COMMIT;");
  EXPECT_TRUE(rule.wait_fired(patience));
  EXPECT_FALSE(rule.done());
  EXPECT_TRUE(both.client.hears_nothing()) << "the server has not answered";
  both.server.send("done");
  EXPECT_TRUE(rule.wait_done(patience));
  EXPECT_EQ(both.client.rest(), "");
  EXPECT_EQ(both.client.ended(), ending::reset);
  EXPECT_EQ(both.server.rest(), "");
  EXPECT_EQ(both.server.ended(), ending::in_order);
}

TEST_F(tcp_gate_rules_test, a_server_that_dies_before_it_answers_leaves_the_rule_undone) {
  pair both = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::lose_reply());
  both.client.send("COMMIT;");
  EXPECT_EQ(both.server.read(7), "COMMIT;");
  both.server.reset();
  both.client.rest();
  await_present(0);
  EXPECT_TRUE(rule.fired());
  EXPECT_FALSE(rule.done());
}

TEST_F(tcp_gate_rules_test, held_bytes_come_after_what_happens_meanwhile) {
  pair both = connect();
  pair other = connect();
  const auto begun = std::chrono::steady_clock::now();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::hold_for(200ms));
  both.client.send("BEGIN;COMMIT;");
  EXPECT_EQ(both.server.read(6), "BEGIN;");
  EXPECT_TRUE(rule.wait_fired(patience));
  both.client.send("after");
  both.server.send("answer");
  EXPECT_EQ(both.client.read(6), "answer") << "the other direction is not held";
  expect_talk(other);
  EXPECT_EQ(both.server.read(12), "COMMIT;after");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 200ms);
  EXPECT_TRUE(rule.done());
}

TEST_F(tcp_gate_rules_test, a_held_request_still_arrives_when_its_client_has_left) {
  pair both = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::hold_for(50ms));
  both.client.send("COMMIT;");
  both.client.hang_up();
  EXPECT_EQ(both.server.rest(), "COMMIT;");
  EXPECT_EQ(both.server.ended(), ending::in_order);
  EXPECT_TRUE(rule.done());
}

TEST_F(tcp_gate_rules_test, rules_on_replies_act_on_replies) {
  for (const gate_action does : {gate_action::cut_before(), gate_action::lose_reply()}) {
    pair both = connect();
    const gate_rule elsewhere = gate_.on_request("200 OK", gate_action::cut_before());
    const gate_rule rule = gate_.on_reply("200 OK", does);
    both.client.send("GET");
    EXPECT_EQ(both.server.read(3), "GET");
    both.server.send("100 Continue, 200");
    both.server.send(" OK");
    EXPECT_TRUE(rule.wait_done(patience));
    EXPECT_EQ(both.client.rest(), "100 Continue, ");
    EXPECT_EQ(both.client.ended(), ending::reset);
    EXPECT_EQ(both.server.rest(), "");
    EXPECT_EQ(elsewhere.matches(), 0U);
  }
}

TEST_F(tcp_gate_rules_test, a_reply_can_be_cut_after_a_part_of_it) {
  pair both = connect();
  const gate_rule rule = gate_.on_reply("half", gate_action::cut_after());
  const std::string before(4 << 20, 'x');
  std::thread sends{[&] { both.server.send(before + "half"); }};
  EXPECT_EQ(both.client.rest(16 << 20).size(), before.size() + 4);
  EXPECT_EQ(both.client.ended(), ending::reset);
  EXPECT_TRUE(rule.wait_done(patience));
  sends.join();
}

TEST_F(tcp_gate_rules_test, a_client_that_vanishes_does_not_hold_up_the_cut_of_its_reply) {
  pair both = connect();
  gate_.on_reply("half", gate_action::cut_after());
  std::thread sends{[&] { both.server.send(std::string(16 << 20, 'x') + "half"); }};
  EXPECT_EQ(both.client.read(1), "x");
  both.client.reset();
  sends.join();
  both.server.hang_up();
  await_present(0);
}

TEST_F(tcp_gate_rules_test, a_held_reply_comes_late) {
  pair both = connect();
  const gate_rule rule = gate_.on_reply("done", gate_action::hold_for(100ms));
  both.server.send("1done2");
  EXPECT_EQ(both.client.read(1), "1");
  EXPECT_TRUE(rule.wait_fired(patience));
  both.client.send("more");
  EXPECT_EQ(both.server.read(4), "more");
  EXPECT_EQ(both.client.read(5), "done2");
}

TEST_F(tcp_gate_rules_test, the_matches_of_all_connections_count_and_one_connection_is_cut) {
  pair first = connect();
  pair second = connect();
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::cut_before(), 2);
  first.client.send("COMMIT;");
  EXPECT_TRUE(rule.wait_matches(1, patience));
  second.client.send("COMMIT;");
  EXPECT_TRUE(rule.wait_matches(2, patience));
  EXPECT_FALSE(rule.wait_fired(0ms));
  first.client.send("again COMMIT;");
  EXPECT_TRUE(rule.wait_done(patience));
  EXPECT_EQ(first.server.rest(), "COMMIT;again ");
  EXPECT_EQ(second.server.read(7), "COMMIT;");
  expect_talk(second);
  second.client.send("COMMIT;");
  EXPECT_EQ(second.server.read(7), "COMMIT;") << "a rule fires once";
  EXPECT_EQ(rule.matches(), 4U);
}

TEST_F(tcp_gate_rules_test, rules_of_one_pattern_fire_one_after_the_other) {
  const gate_rule first = gate_.on_request("COMMIT", gate_action::lose_reply());
  const gate_rule second = gate_.on_request("COMMIT", gate_action::cut_before());
  pair one = connect();
  one.client.send("COMMIT");
  EXPECT_EQ(one.server.read(6), "COMMIT");
  one.server.send("done");
  EXPECT_TRUE(first.wait_done(patience));
  EXPECT_FALSE(second.fired());
  pair two = connect();
  two.client.send("COMMIT");
  EXPECT_TRUE(second.wait_done(patience));
  EXPECT_EQ(two.server.rest(), "");
}

TEST_F(tcp_gate_rules_test, rules_are_kept_while_the_gate_opens_and_shuts) {
  const gate_rule rule = gate_.on_request("COMMIT", gate_action::lose_reply());
  gate_.refuse();
  gate_.drop_replies();
  pair both = connect();
  both.client.send("COMMIT");
  EXPECT_EQ(both.server.read(6), "COMMIT");
  both.server.send("done");
  EXPECT_TRUE(rule.wait_done(patience));
  EXPECT_EQ(both.client.rest(), "");
  EXPECT_EQ(both.client.ended(), ending::reset);
}

TEST_F(tcp_gate_rules_test, an_empty_pattern_is_refused) {
  EXPECT_THROW(gate_.on_request("", gate_action::pass()), std::invalid_argument);
  EXPECT_THROW(gate_.on_reply("", gate_action::pass()), std::invalid_argument);
}

}  // namespace
}  // namespace callonce::testkit
