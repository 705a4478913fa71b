#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <callonce/stores/group_commit/plan.hpp>

namespace callonce::group_commit {
namespace {

using namespace std::chrono_literals;

struct numbered : caller {
  explicit numbered(int of) : number(of) {}
  int number;
};

identity id_of(const std::string& key) {
  return identity{scope_hash{}, callonce::key{key}};
}

claim_id claim_number(int number) {
  claim_id made{};
  made[0] = static_cast<std::byte>(number);
  return made;
}

claim_call claim_of(const std::string& key, int number = 1) {
  claim_call made;
  made.wish.id = id_of(key);
  made.wish.claim_id = claim_number(number);
  return made;
}

complete_call complete_of(const std::string& key, std::size_t body_bytes = 0) {
  auto answer = std::make_shared<stored_answer>();
  answer->body = std::string(body_bytes, 'x');
  return {fence{id_of(key), claim_number(1), 1}, answer};
}

renew_call renew_of(const std::string& key) {
  return {fence{id_of(key), claim_number(1), 1}};
}

outcome won(const claim_call& asked) {
  claim_reply met;
  met.verdict = claim_verdict::claimed;
  met.current.id = asked.wish.id;
  met.current.claim_id = asked.wish.claim_id;
  return reply{met};
}

outcome done() {
  write_reply met;
  met.verdict = write_verdict::done;
  return reply{met};
}

// Callers in the order in which they were answered, with what: "3 ok", "4 unavailable".
class desk {
 public:
  explicit desk(limits within = {}) : lane(within) {}

  void submit(call what, int who, steady_time until = steady_time::max()) {
    note(lane.submit(std::move(what), std::make_unique<numbered>(who), until));
  }

  std::vector<std::string> next_keys() {
    std::vector<std::string> keys;
    sent = lane.next_batch();
    for (const operation* each : sent) keys.emplace_back(identity_of(each->what).key().bytes());
    return keys;
  }

  void apply() {
    std::vector<outcome> results;
    for (const operation* each : sent) {
      const auto* asked = std::get_if<claim_call>(&each->what);
      results.push_back(asked != nullptr ? won(*asked) : done());
    }
    note(lane.applied(std::move(results)));
  }

  void fail(batch_fault why) { note(lane.failed(why)); }
  void expire(steady_time now) { note(lane.expire(now)); }

  void note(answers ended) {
    for (const answer& each : ended) {
      const std::string said = each.what                                              ? "ok"
                               : each.what.error() == make_error_code(errc::in_doubt) ? "in_doubt"
                               : each.what.error() == make_error_code(errc::unavailable)
                                   ? "unavailable"
                                   : "other";
      log.push_back(std::to_string(static_cast<const numbered&>(*each.who).number) + ' ' + said);
    }
  }

  std::vector<std::string> take_log() { return std::exchange(log, {}); }

  plan lane;
  batch sent;
  std::vector<std::string> log;
};

using texts = std::vector<std::string>;

TEST(plan, an_idle_lane_sends_one_claim_alone) {
  desk at;
  EXPECT_FALSE(at.lane.ready());
  at.submit(claim_of("a"), 1);
  ASSERT_TRUE(at.lane.ready());
  EXPECT_EQ(at.next_keys(), texts{"a"});
  EXPECT_FALSE(at.lane.ready()) << "one batch at a time";
  EXPECT_EQ(at.take_log(), texts{}) << "no answer before COMMIT was answered";
  at.apply();
  EXPECT_EQ(at.take_log(), texts{"1 ok"});
}

TEST(plan, what_comes_meanwhile_is_the_next_batch_and_writes_go_first) {
  desk at;
  at.submit(claim_of("a"), 1);
  at.next_keys();
  at.submit(claim_of("b"), 2);
  at.submit(claim_of("c"), 3);
  at.submit(complete_of("d"), 4);
  at.submit(renew_of("e"), 5);
  at.apply();
  EXPECT_EQ(at.next_keys(), (texts{"d", "e", "b", "c"}));
}

// C09: batching does not change an outcome.
TEST(plan, of_one_key_one_operation_a_batch_in_the_order_they_came) {
  desk at;
  at.submit(claim_of("k", 1), 1);
  at.submit(claim_of("k", 2), 2);
  at.submit(claim_of("j", 3), 3);
  EXPECT_EQ(at.next_keys(), (texts{"k", "j"}));
  at.apply();
  EXPECT_EQ(at.take_log(), (texts{"1 ok", "3 ok"}));
  EXPECT_EQ(at.next_keys(), texts{"k"});
  at.apply();
  EXPECT_EQ(at.take_log(), texts{"2 ok"});
}

TEST(plan, a_batch_is_bounded_in_operations) {
  desk at;
  for (int each = 0; each < 300; ++each) at.submit(claim_of("k" + std::to_string(each)), each);
  EXPECT_EQ(at.next_keys().size(), 256u);
  at.apply();
  EXPECT_EQ(at.next_keys().size(), 44u);
}

TEST(plan, a_batch_is_bounded_in_bytes_but_never_empty) {
  desk at;
  at.submit(complete_of("large", 5u << 20), 1);
  at.submit(complete_of("half", 3u << 20), 2);
  at.submit(complete_of("other half", 3u << 20), 3);
  EXPECT_EQ(at.next_keys(), texts{"large"});
  at.apply();
  EXPECT_EQ(at.next_keys(), texts{"half"});
}

TEST(plan, no_claim_overtakes_a_write_that_found_no_room) {
  limits small;
  small.batch_operations = 2;
  desk at{small};
  at.submit(renew_of("a"), 1);
  at.submit(renew_of("b"), 2);
  at.submit(complete_of("c"), 3);
  at.submit(claim_of("c"), 4);
  EXPECT_EQ(at.next_keys(), (texts{"a", "b"}));
  at.apply();
  EXPECT_EQ(at.next_keys(), texts{"c"});
  EXPECT_FALSE(is_claim(at.sent.front()->what));
}

TEST(plan, a_full_queue_refuses_claims_at_once_and_nothing_else) {
  limits small;
  small.queue_operations = 2;
  desk at{small};
  at.submit(claim_of("a"), 1);
  at.submit(claim_of("b"), 2);
  at.submit(claim_of("c"), 3);
  EXPECT_EQ(at.take_log(), texts{"3 unavailable"});
  at.submit(complete_of("d"), 4);
  EXPECT_EQ(at.take_log(), texts{});
  EXPECT_EQ(at.next_keys().front(), "d");
}

TEST(plan, the_queue_is_bounded_in_bytes_too) {
  desk at;
  for (int each = 0; each < 16; ++each) {
    at.submit(complete_of("k" + std::to_string(each), 4u << 20), each);
  }
  at.submit(claim_of("late"), 99);
  EXPECT_EQ(at.take_log(), texts{"99 unavailable"});
  at.next_keys();
  at.apply();
  at.take_log();
  at.submit(claim_of("later"), 100);
  EXPECT_EQ(at.take_log(), texts{}) << "what was sent no longer counts";
}

TEST(plan, one_failing_operation_does_not_fail_its_mates) {
  desk at;
  for (const std::string key : {"a", "b", "poison", "d", "e"}) at.submit(claim_of(key), key[0]);
  std::map<std::string, int> applied;
  while (at.lane.ready()) {
    const texts keys = at.next_keys();
    if (std::find(keys.begin(), keys.end(), "poison") != keys.end()) {
      at.fail(batch_fault::refused);
    } else {
      for (const std::string& key : keys) ++applied[key];
      at.apply();
    }
  }
  EXPECT_EQ(applied, (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"d", 1}, {"e", 1}}));
  EXPECT_EQ(at.take_log(), (texts{"97 ok", "98 ok", "112 unavailable", "100 ok", "101 ok"}));
}

TEST(plan, a_batch_in_doubt_is_sent_again_before_anything_else) {
  desk at;
  at.submit(claim_of("a"), 1);
  at.submit(claim_of("b"), 2);
  at.next_keys();
  at.submit(complete_of("c"), 3);
  at.fail(batch_fault::in_doubt);
  EXPECT_EQ(at.take_log(), texts{}) << "silence is no answer";
  EXPECT_EQ(at.next_keys(), (texts{"a", "b"}));
  EXPECT_TRUE(at.sent.front()->repeated);
  at.fail(batch_fault::not_applied);
  EXPECT_EQ(at.next_keys(), (texts{"a", "b"})) << "the first time stays in doubt";
  at.apply();
  EXPECT_EQ(at.take_log(), (texts{"1 ok", "2 ok"}));
}

TEST(plan, what_was_in_doubt_is_never_called_unavailable) {
  desk at;
  at.submit(claim_of("a"), 1);
  at.next_keys();
  at.fail(batch_fault::in_doubt);
  at.next_keys();
  at.fail(batch_fault::refused);
  EXPECT_EQ(at.take_log(), texts{"1 in_doubt"});
}

TEST(plan, a_batch_surely_not_applied_waits_in_its_old_place) {
  desk at;
  at.submit(claim_of("a"), 1);
  at.submit(renew_of("b"), 2);
  at.next_keys();
  at.submit(claim_of("c"), 3);
  at.submit(complete_of("d"), 4);
  at.fail(batch_fault::not_applied);
  EXPECT_EQ(at.next_keys(), (texts{"b", "d", "a", "c"}));
}

TEST(plan, patience_withdraws_what_was_not_sent) {
  desk at;
  const steady_time soon{10ms};
  at.submit(claim_of("a"), 1, soon);
  at.submit(complete_of("b"), 2, soon + 1ms);
  EXPECT_EQ(at.lane.next_expiry(), soon);
  at.expire(soon - 1ms);
  EXPECT_EQ(at.take_log(), texts{});
  at.expire(soon);
  EXPECT_EQ(at.take_log(), texts{"1 unavailable"});
  at.expire(soon + 1ms);
  EXPECT_EQ(at.take_log(), texts{"2 unavailable"});
  EXPECT_FALSE(at.lane.ready());
  EXPECT_EQ(at.lane.next_expiry(), steady_time::max());
}

TEST(plan, a_sent_claim_that_nobody_waits_for_is_released_when_won) {
  desk at;
  const steady_time soon{10ms};
  at.submit(claim_of("a", 7), 1, soon);
  at.submit(claim_of("b", 8), 2);
  at.next_keys();
  at.expire(soon);
  EXPECT_EQ(at.take_log(), texts{"1 in_doubt"});
  at.submit(claim_of("a", 7), 3);
  at.apply();
  EXPECT_EQ(at.take_log(), texts{"2 ok"});

  EXPECT_EQ(at.next_keys(), texts{"a"}) << "before the same claim is asked for again";
  const auto* given_back = std::get_if<release_call>(&at.sent.front()->what);
  ASSERT_NE(given_back, nullptr);
  EXPECT_EQ(given_back->by.claim_id, claim_number(7));
  EXPECT_EQ(given_back->by.attempt, 1u);
  at.apply();
  EXPECT_EQ(at.next_keys(), texts{"a"});
}

TEST(plan, a_sent_completion_stays_with_the_lane_until_it_is_applied) {
  desk at;
  const steady_time soon{10ms};
  at.submit(complete_of("a"), 1, soon);
  at.next_keys();
  at.expire(soon);
  EXPECT_EQ(at.take_log(), texts{"1 in_doubt"});
  at.fail(batch_fault::not_applied);
  EXPECT_EQ(at.next_keys(), texts{"a"});
  at.apply();
  EXPECT_EQ(at.take_log(), texts{}) << "answered once";
  EXPECT_FALSE(at.lane.ready());
}

TEST(plan, a_claim_nobody_waits_for_and_that_was_not_applied_is_dropped) {
  desk at;
  const steady_time soon{10ms};
  at.submit(claim_of("a"), 1, soon);
  at.next_keys();
  at.expire(soon);
  at.fail(batch_fault::not_applied);
  EXPECT_FALSE(at.lane.ready());
}

TEST(plan, halves_that_were_not_sent_yet_can_be_withdrawn) {
  desk at;
  const steady_time soon{10ms};
  at.submit(claim_of("a"), 1, soon);
  at.submit(claim_of("b"), 2, soon);
  at.next_keys();
  at.fail(batch_fault::refused);
  EXPECT_EQ(at.next_keys(), texts{"a"});
  at.expire(soon);
  EXPECT_EQ(at.take_log(), (texts{"1 in_doubt", "2 unavailable"}));
  at.apply();
  EXPECT_EQ(at.next_keys(), texts{"a"});
  EXPECT_TRUE(std::holds_alternative<release_call>(at.sent.front()->what));
}

TEST(plan, giving_up_answers_everybody_truly) {
  desk at;
  at.submit(claim_of("a"), 1);
  at.next_keys();
  at.fail(batch_fault::in_doubt);
  at.submit(claim_of("b"), 2);
  at.submit(complete_of("c"), 3);
  at.note(at.lane.abandon());
  EXPECT_EQ(at.take_log(), (texts{"3 unavailable", "2 unavailable", "1 in_doubt"}));
  EXPECT_FALSE(at.lane.ready());
}

}  // namespace
}  // namespace callonce::group_commit
