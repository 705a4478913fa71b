#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <callonce/testkit/gate_flow.hpp>

namespace callonce::testkit::detail {
namespace {

using namespace std::chrono_literals;
using pieces = std::vector<std::string>;

class gate_flow_test : public testing::Test {
 protected:
  gate_rule_state& arm(std::string pattern, gate_action does, std::uint64_t skip = 0) {
    rules_.push_back(std::make_shared<gate_rule_state>(board_, std::move(pattern), does, skip));
    return *rules_.back();
  }

  // What goes on of these pieces, up to the first rule that asks the connection for more.
  std::string passed(const pieces& of, bool ends = true) {
    gate_flow flow{rules_};
    for (const std::string& each : of) {
      flow.take(each);
      if (flow.judge(now_) != nullptr) return flow.output();
    }
    if (ends) flow.end();
    flow.judge(now_);
    return flow.output();
  }

  // Every way to cut the text into two, and the one into single bytes.
  static std::vector<pieces> splits(const std::string& text) {
    std::vector<pieces> all;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      all.push_back({text.substr(0, at), text.substr(at)});
    }
    pieces bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    all.push_back(bytes);
    return all;
  }

  std::shared_ptr<gate_board> board_ = std::make_shared<gate_board>();
  gate_rules rules_;
  gate_time now_{1h};
};

TEST_F(gate_flow_test, without_rules_everything_goes_on_at_once) {
  for (const pieces& each : splits("abc")) EXPECT_EQ(passed(each, false), "abc");
}

TEST_F(gate_flow_test, a_pattern_is_found_across_pieces_and_nothing_of_it_has_gone_on) {
  for (const pieces& each : splits("BEGIN;COCOMMIT;x")) {
    rules_.clear();
    const gate_rule_state& rule = arm("COMMIT", gate_action::cut_before());
    EXPECT_EQ(passed(each), "BEGIN;CO") << each[0];
    EXPECT_TRUE(rule.fired);
    EXPECT_EQ(rule.matches, 1U);
  }
}

TEST_F(gate_flow_test, patterns_with_repetitions_and_with_nul_are_found) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"aabaaab", "aabaabaaab"},
      {"abab", "aabab"},
      {"aaa", "aaba"},
      {std::string{"C\0", 2}, std::string{"CC\0", 3}}};
  for (const auto& [pattern, text] : rows) {
    for (const pieces& each : splits(text)) {
      rules_.clear();
      const gate_rule_state& rule = arm(pattern, gate_action::cut_before());
      EXPECT_EQ(passed(each), text.substr(0, text.find(pattern))) << pattern;
      EXPECT_EQ(rule.fired, text.find(pattern) != std::string::npos) << pattern;
    }
  }
}

TEST_F(gate_flow_test, what_only_began_like_a_pattern_waits_and_goes_on) {
  arm("COMMIT", gate_action::cut_before());
  EXPECT_EQ(passed({"x COMM"}, false), "x ");
  EXPECT_EQ(passed({"x COMM", "A"}, false), "x COMMA");
  EXPECT_EQ(passed({"x COMM"}, true), "x COMM");
}

TEST_F(gate_flow_test, nothing_waits_for_a_rule_that_has_fired_or_lets_its_pattern_pass) {
  arm("COMMIT", gate_action::cut_after());
  arm("COMMA", gate_action::cut_before(), 1);
  EXPECT_EQ(passed({"x COMM"}, false), "x COMM");
  arm("COMX", gate_action::cut_before()).fired = true;
  EXPECT_EQ(passed({"x COM"}, false), "x COM");
}

TEST_F(gate_flow_test, withheld_bytes_go_on_when_their_rule_fires_elsewhere) {
  gate_rule_state& rule = arm("COMMIT", gate_action::cut_before());
  gate_flow flow{rules_};
  flow.take("COMM");
  flow.judge(now_);
  EXPECT_EQ(flow.output(), "");
  rule.fired = true;
  flow.judge(now_);
  EXPECT_EQ(flow.output(), "COMM");
}

TEST_F(gate_flow_test, a_rule_skips_matches_and_counts_on_after_it_fired) {
  const gate_rule_state& rule = arm("ab", gate_action::pass(), 1);
  EXPECT_EQ(passed({"ab"}), "ab");
  EXPECT_FALSE(rule.fired);
  EXPECT_EQ(passed({"ab"}), "ab");
  EXPECT_TRUE(rule.fired && rule.done);
  EXPECT_EQ(passed({"aab", "a", "bx"}), "aababx");
  EXPECT_EQ(rule.matches, 4U);
}

TEST_F(gate_flow_test, of_two_rules_one_acts_and_the_other_waits_for_the_next_match) {
  const gate_rule_state& first = arm("ab", gate_action::cut_before());
  const gate_rule_state& second = arm("ab", gate_action::cut_before());
  EXPECT_EQ(passed({"1ab"}), "1");
  EXPECT_TRUE(first.fired);
  EXPECT_FALSE(second.fired);
  EXPECT_EQ(passed({"2ab"}), "2");
  EXPECT_TRUE(second.fired);
}

TEST_F(gate_flow_test, held_bytes_go_on_in_their_time_and_order) {
  for (const pieces& each : splits("1ab2")) {
    rules_.clear();
    const gate_rule_state& rule = arm("ab", gate_action::hold_for(5ms));
    gate_flow flow{rules_};
    for (const std::string& piece : each) {
      flow.take(piece);
      flow.judge(now_);
    }
    flow.take("3");
    flow.judge(now_ + 4ms);
    EXPECT_EQ(flow.output(), "1");
    EXPECT_TRUE(flow.is_held() && rule.fired);
    EXPECT_FALSE(rule.done);
    flow.judge(now_ + 5ms);
    EXPECT_EQ(flow.output(), "1ab23");
    EXPECT_TRUE(rule.done && !flow.is_held());
  }
}

TEST_F(gate_flow_test, an_empty_pattern_is_refused) {
  EXPECT_THROW(arm("", gate_action::pass()), std::invalid_argument);
}

}  // namespace
}  // namespace callonce::testkit::detail
