#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

const identity k = id_of("k");

settlement decision_on(const fence& seen, std::shared_ptr<const stored_answer> answer = nullptr) {
  settlement made;
  made.id = seen.id;
  made.expected_attempt = seen.attempt;
  made.claim_id = claim_number(1000);
  made.answer = std::move(answer);
  made.released_retention = 60s;
  return made;
}

void a_parked_record_is_settled_with_an_answer(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.park(by);
  const write_reply met = at.settle(decision_on(by, answer_of("decided")));
  EXPECT_EQ(met.verdict, write_verdict::done);
  EXPECT_EQ(met.current->attempt, 2u);
  EXPECT_EQ(met.current->claim_id, claim_number(1000));
  const claim_reply replay = at.claim(wish_of(k, 2));
  EXPECT_EQ(replay.verdict, claim_verdict::completed);
  EXPECT_EQ(replay.current.answer->body.text(), "decided");
}

void a_parked_record_is_settled_to_released(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.park(by);
  EXPECT_EQ(at.settle(decision_on(by)).current->state, record_state::released);
  const claim_reply met = at.claim(wish_of(k, 2));
  EXPECT_EQ(met.kind, claim_kind::after_release);
  EXPECT_EQ(met.current.attempt, 3u);
}

void settling_a_live_claim_fences_its_owner(candidate& at) {
  const fence owner = at.win(wish_of(k, 1));
  EXPECT_EQ(at.settle(decision_on(owner)).verdict, write_verdict::done);
  EXPECT_EQ(at.complete(owner, answer_of("late")).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.renew(owner).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.look_up(k)->state, record_state::released);
}

void a_released_record_can_be_settled_with_an_answer(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.release(by);
  EXPECT_EQ(at.settle(decision_on(by, answer_of("decided"))).verdict, write_verdict::done);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::completed);
}

void settling_needs_the_attempt_that_was_seen(candidate& at) {
  const fence seen = at.win(wish_of(k, 1));
  at.pass(lease);
  at.win(wish_of(k, 2));
  const write_reply met = at.settle(decision_on(seen, answer_of("decided")));
  EXPECT_EQ(met.verdict, write_verdict::lease_lost);
  EXPECT_EQ(met.current->attempt, 2u);
  EXPECT_EQ(at.look_up(k)->state, record_state::claimed);
}

void a_completed_record_is_never_settled(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.complete(by, answer_of("one"));
  const write_reply met = at.settle(decision_on(by, answer_of("two")));
  EXPECT_EQ(met.verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.look_up(k)->answer->body.text(), "one");
}

void settling_is_repeatable_and_needs_a_record(candidate& at) {
  EXPECT_EQ(at.settle(decision_on({k, {}, 1})).verdict, write_verdict::lease_lost);
  EXPECT_FALSE(at.look_up(k));
  const settlement decision = decision_on(at.win(wish_of(k, 1)), answer_of("decided"));
  EXPECT_EQ(at.settle(decision).verdict, write_verdict::done);
  EXPECT_EQ(at.settle(decision).verdict, write_verdict::done);
  EXPECT_EQ(at.look_up(k)->attempt, 2u);
}

}  // namespace

const std::vector<row>& settle_rows() {
  static const std::vector<row> all{
      {"a_parked_record_is_settled_with_an_answer", a_parked_record_is_settled_with_an_answer},
      {"a_parked_record_is_settled_to_released", a_parked_record_is_settled_to_released},
      {"settling_a_live_claim_fences_its_owner", settling_a_live_claim_fences_its_owner},
      {"a_released_record_can_be_settled_with_an_answer",
       a_released_record_can_be_settled_with_an_answer},
      {"settling_needs_the_attempt_that_was_seen", settling_needs_the_attempt_that_was_seen},
      {"a_completed_record_is_never_settled", a_completed_record_is_never_settled},
      {"settling_is_repeatable_and_needs_a_record", settling_is_repeatable_and_needs_a_record}};
  return all;
}

}  // namespace callonce::testkit::exam
