#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

const identity k = id_of("k");

void completing_freezes_the_answer(candidate& at) {
  const fence by = at.win(wish_of(k));
  const auto answer = answer_of("{\"id\":1}");
  const write_reply met = at.complete(by, answer);
  EXPECT_EQ(met.verdict, write_verdict::done);
  EXPECT_EQ(met.current->state, record_state::completed);
  const auto found = at.look_up(k);
  EXPECT_EQ(found->state, record_state::completed);
  EXPECT_EQ(*found->answer, *answer);
}

// K10: repeating it is harmless; I5: it never changes.
void completing_again_is_done_or_gets_the_stored_answer(candidate& at) {
  const fence by = at.win(wish_of(k));
  const record first = *at.complete(by, answer_of("one")).current;
  at.pass(1s);
  EXPECT_EQ(at.complete(by, answer_of("one")).verdict, write_verdict::done);
  const write_reply met = at.complete(by, answer_of("two"));
  EXPECT_EQ(met.verdict, write_verdict::lease_lost);
  EXPECT_EQ(met.current->answer->body.text(), "one");
  EXPECT_EQ(at.look_up(k)->completed_at, first.completed_at);
}

// The fence decides, not the clock.
void a_late_completion_is_accepted_before_a_takeover(candidate& at) {
  const fence by = at.win(wish_of(k));
  at.pass(lease + 1s);
  EXPECT_EQ(at.complete(by, answer_of("late")).verdict, write_verdict::done);
}

// C26, C28: whoever was taken over changes nothing any more, by no write.
void a_zombie_changes_nothing(candidate& at) {
  const fence zombie = at.win(wish_of(k, 1));
  at.pass(lease);
  const fence owner = at.win(wish_of(k, 2));
  EXPECT_EQ(owner.attempt, 2u);
  const record before = *at.look_up(k);
  for (const write_reply& met : {at.complete(zombie, answer_of("zombie")), at.release(zombie),
                                 at.renew(zombie), at.park(zombie)}) {
    EXPECT_EQ(met.verdict, write_verdict::lease_lost);
    ASSERT_TRUE(met.current) << "a refusal carries the record as it stands";
    EXPECT_EQ(met.current->claim_id, owner.claim_id);
  }
  const record after = *at.look_up(k);
  EXPECT_EQ(after.state, record_state::claimed);
  EXPECT_EQ(after.lease_until, before.lease_until);
  EXPECT_EQ(at.complete(owner, answer_of("owner")).verdict, write_verdict::done);
  EXPECT_EQ(at.complete(zombie, answer_of("zombie")).current->answer->body.text(), "owner");
}

// I6: both halves of the fence count.
void a_write_needs_its_claim_and_its_attempt(candidate& at) {
  const fence by = at.win(wish_of(k));
  const fence other_claim{k, claim_number(9), by.attempt};
  const fence other_attempt{k, by.claim_id, by.attempt + 1};
  for (const fence& each : {other_claim, other_attempt}) {
    EXPECT_EQ(at.complete(each, answer_of("x")).verdict, write_verdict::lease_lost);
    EXPECT_EQ(at.release(each).verdict, write_verdict::lease_lost);
    EXPECT_EQ(at.renew(each).verdict, write_verdict::lease_lost);
    EXPECT_EQ(at.park(each).verdict, write_verdict::lease_lost);
  }
  EXPECT_EQ(at.look_up(k)->state, record_state::claimed);
}

void a_write_without_a_record_is_lost_and_makes_none(candidate& at) {
  const fence by{k, claim_number(1), 1};
  for (const write_reply& met :
       {at.complete(by, answer_of("x")), at.release(by), at.renew(by), at.park(by)}) {
    EXPECT_EQ(met.verdict, write_verdict::lease_lost);
    EXPECT_FALSE(met.current);
  }
  EXPECT_FALSE(at.look_up(k));
}

void a_renewal_lengthens_the_lease_from_now(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.pass(1500ms);
  const write_reply met = at.renew(by);
  EXPECT_EQ(met.verdict, write_verdict::done);
  EXPECT_EQ(met.current->lease_until - met.judged_at.lease, lease);
  at.pass(lease - 1ms);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress);
}

void a_lapsed_lease_can_be_renewed_before_a_takeover(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.pass(lease + 1s);
  EXPECT_EQ(at.renew(by).verdict, write_verdict::done);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress);
}

void only_a_claimed_record_is_renewed(candidate& at) {
  const fence completed = at.win(wish_of(id_of("completed")));
  at.complete(completed, answer_of("x"));
  const fence released = at.win(wish_of(id_of("released")));
  at.release(released);
  const fence parked = at.win(wish_of(id_of("parked")));
  at.park(parked);
  for (const fence& each : {completed, released, parked}) {
    EXPECT_EQ(at.renew(each).verdict, write_verdict::lease_lost) << each.id.key().bytes();
  }
}

// C27
void releasing_keeps_the_row_for_its_own_time(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  const write_reply met = at.release(by, 60s);
  EXPECT_EQ(met.verdict, write_verdict::done);
  EXPECT_EQ(met.current->state, record_state::released);
  EXPECT_EQ(met.current->expires_at - met.judged_at.wall, 60s);
  EXPECT_EQ(at.release(by, 60s).verdict, write_verdict::done) << "a repeat";
  at.pass(60s);
  EXPECT_EQ(at.claim(wish_of(k, 2, "b")).kind, claim_kind::after_expiry);
}

void a_completed_record_is_not_released_or_parked(candidate& at) {
  const fence by = at.win(wish_of(k));
  at.complete(by, answer_of("x"));
  EXPECT_EQ(at.release(by).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.park(by).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.look_up(k)->state, record_state::completed);
}

void a_released_record_is_not_completed_or_parked(candidate& at) {
  const fence by = at.win(wish_of(k));
  at.release(by);
  EXPECT_EQ(at.complete(by, answer_of("x")).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.park(by).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.look_up(k)->state, record_state::released);
}

void parking_is_repeatable_and_the_late_truth_completes_it(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  EXPECT_EQ(at.park(by).verdict, write_verdict::done);
  EXPECT_EQ(at.park(by).verdict, write_verdict::done) << "a repeat";
  EXPECT_EQ(at.release(by).verdict, write_verdict::lease_lost);
  EXPECT_EQ(at.complete(by, answer_of("truth")).verdict, write_verdict::done);
  EXPECT_EQ(at.claim(wish_of(k, 2)).current.answer->body.text(), "truth");
}

}  // namespace

const std::vector<row>& write_rows() {
  static const std::vector<row> all{
      {"completing_freezes_the_answer", completing_freezes_the_answer},
      {"completing_again_is_done_or_gets_the_stored_answer",
       completing_again_is_done_or_gets_the_stored_answer},
      {"a_late_completion_is_accepted_before_a_takeover",
       a_late_completion_is_accepted_before_a_takeover},
      {"C26_C28_a_zombie_changes_nothing", a_zombie_changes_nothing},
      {"C27_a_write_needs_its_claim_and_its_attempt", a_write_needs_its_claim_and_its_attempt},
      {"a_write_without_a_record_is_lost_and_makes_none",
       a_write_without_a_record_is_lost_and_makes_none},
      {"a_renewal_lengthens_the_lease_from_now", a_renewal_lengthens_the_lease_from_now},
      {"a_lapsed_lease_can_be_renewed_before_a_takeover",
       a_lapsed_lease_can_be_renewed_before_a_takeover},
      {"only_a_claimed_record_is_renewed", only_a_claimed_record_is_renewed},
      {"C27_releasing_keeps_the_row_for_its_own_time", releasing_keeps_the_row_for_its_own_time},
      {"a_completed_record_is_not_released_or_parked",
       a_completed_record_is_not_released_or_parked},
      {"a_released_record_is_not_completed_or_parked",
       a_released_record_is_not_completed_or_parked},
      {"parking_is_repeatable_and_the_late_truth_completes_it",
       parking_is_repeatable_and_the_late_truth_completes_it}};
  return all;
}

}  // namespace callonce::testkit::exam
