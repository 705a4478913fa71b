#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

const identity k = id_of("k");

void a_first_claim_wins(candidate& at) {
  const claim_reply met = at.claim(wish_of(k));
  EXPECT_EQ(met.verdict, claim_verdict::claimed);
  EXPECT_EQ(met.kind, claim_kind::first);
  EXPECT_EQ(met.current.id, k);
  EXPECT_EQ(met.current.state, record_state::claimed);
  EXPECT_EQ(met.current.attempt, 1u);
  EXPECT_EQ(met.current.claim_id, claim_number(1));
  EXPECT_EQ(met.current.terms, wish_of(k).terms);
  EXPECT_EQ(met.current.fingerprint, print_of("a"));
}

// C15: every end is counted from the store's own clocks, in one unit.
void ends_are_counted_in_one_unit(candidate& at) {
  const claim_reply met = at.claim(wish_of(k));
  EXPECT_EQ(met.current.lease_until - met.judged_at.lease, lease);
  EXPECT_EQ(met.current.created_at, met.judged_at.wall);
  EXPECT_EQ(met.current.expires_at - met.judged_at.wall, lease + key_retention);

  at.pass(1s);
  const write_reply done = at.complete({k, claim_number(1), 1}, answer_of("x"));
  EXPECT_EQ(done.current->completed_at, done.judged_at.wall);
  EXPECT_EQ(done.current->body_until - done.judged_at.wall, retention);
  EXPECT_EQ(done.current->expires_at - done.judged_at.wall, key_retention);
  EXPECT_EQ(done.current->created_at, met.judged_at.wall);
}

// C02: the loser learns that it lost, and nothing is changed. C07: equal requests too.
void a_live_claim_is_in_progress(candidate& at) {
  const record won = at.claim(wish_of(k, 1)).current;
  at.pass(500ms);
  const claim_reply met = at.claim(wish_of(k, 2));
  EXPECT_EQ(met.verdict, claim_verdict::in_progress);
  EXPECT_EQ(met.current.claim_id, claim_number(1));
  EXPECT_EQ(met.current.lease_until - met.judged_at.lease, lease - 500ms) << "lease left";
  EXPECT_EQ(at.look_up(k)->lease_until, won.lease_until);
}

// C02, C04
void another_payload_is_a_mismatch_while_the_first_runs(candidate& at) {
  at.win(wish_of(k, 1, "a"));
  const claim_reply met = at.claim(wish_of(k, 2, "b"));
  EXPECT_EQ(met.verdict, claim_verdict::mismatch);
  EXPECT_EQ(met.current.fingerprint, print_of("a"));
  EXPECT_EQ(at.look_up(k)->claim_id, claim_number(1));
}

void another_fingerprint_rule_is_named_and_changes_nothing(candidate& at) {
  at.win(wish_of(k, 1));
  claim_request other = wish_of(k, 2);
  other.fingerprint.rule = fingerprint_rule::from_text("fields amount params.name");
  at.pass(lease);
  const claim_reply met = at.claim(other);
  EXPECT_EQ(met.verdict, claim_verdict::other_rule);
  EXPECT_EQ(met.current.fingerprint.rule, fingerprint_rule{});
  EXPECT_EQ(at.look_up(k)->claim_id, claim_number(1));
}

// K4: an acknowledgement was lost; the claim is asked for again.
void a_repeated_claim_is_the_same_attempt_with_a_new_lease(candidate& at) {
  at.win(wish_of(k, 1));
  at.pass(1500ms);
  const claim_reply met = at.claim(wish_of(k, 1));
  EXPECT_EQ(met.verdict, claim_verdict::claimed);
  EXPECT_EQ(met.kind, claim_kind::repeat);
  EXPECT_EQ(met.current.attempt, 1u);
  EXPECT_EQ(met.current.lease_until - met.judged_at.lease, lease);
}

// C12, C22, C28: a lapsed claim is anybody's, whatever lease they ask for, under a claim of its
// own.
void a_lapsed_claim_is_taken_over(candidate& at) {
  for (const auto& [key, asked_lease] : {std::pair{"equal", lease}, std::pair{"longer", 2 * lease},
                                         std::pair{"shorter", lease / 2}}) {
    const identity id = id_of(key);
    const record before = at.claim(wish_of(id, 1)).current;
    at.pass(lease - 1ms);
    EXPECT_EQ(at.claim(wish_of(id, 2)).verdict, claim_verdict::in_progress) << key;
    at.pass(1ms);
    claim_request wish = wish_of(id, 2);
    wish.terms.lease = asked_lease;
    const claim_reply met = at.claim(wish);
    EXPECT_EQ(met.verdict, claim_verdict::claimed) << key;
    EXPECT_EQ(met.kind, claim_kind::takeover) << key;
    EXPECT_EQ(met.current.attempt, 2u) << key;
    EXPECT_EQ(met.current.claim_id, claim_number(2)) << key;
    EXPECT_EQ(met.current.lease_until - met.judged_at.lease, asked_lease) << key;
    EXPECT_EQ(met.current.created_at, before.created_at) << key;
  }
}

void a_lapsed_claim_with_another_payload_is_a_mismatch(candidate& at) {
  at.win(wish_of(k, 1, "a"));
  at.pass(lease);
  EXPECT_EQ(at.claim(wish_of(k, 2, "b")).verdict, claim_verdict::mismatch);
  EXPECT_EQ(at.look_up(k)->attempt, 1u);
}

void a_lapsed_claim_parks_at_the_wish_of_its_record(candidate& at) {
  claim_request careful = wish_of(k, 1);
  careful.terms.park = true;
  at.win(careful);
  at.pass(lease);
  const claim_reply met = at.claim(wish_of(k, 2));
  EXPECT_EQ(met.verdict, claim_verdict::outcome_unknown);
  EXPECT_EQ(met.current.state, record_state::parked);
  EXPECT_EQ(met.current.claim_id, claim_number(1)) << "the truth may still come late";
  EXPECT_EQ(at.look_up(k)->state, record_state::parked);
}

void a_lapsed_claim_parks_at_the_wish_of_the_claimer(candidate& at) {
  at.win(wish_of(k, 1));
  at.pass(lease);
  claim_request careful = wish_of(k, 2);
  careful.terms.park = true;
  EXPECT_EQ(at.claim(careful).verdict, claim_verdict::outcome_unknown);
  EXPECT_EQ(at.look_up(k)->state, record_state::parked);
}

// I18: nothing but a decision ends it.
void a_parked_record_is_never_claimed(candidate& at) {
  at.park(at.win(wish_of(k, 1)));
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::outcome_unknown);
  EXPECT_EQ(at.claim(wish_of(k, 3, "b")).verdict, claim_verdict::mismatch);
  at.pass(10 * key_retention);
  EXPECT_EQ(at.claim(wish_of(k, 4)).verdict, claim_verdict::outcome_unknown);
}

void a_completed_record_is_replayed(candidate& at) {
  const auto answer = answer_of("{\"id\":1}");
  at.complete(at.win(wish_of(k, 1)), answer);
  const claim_reply met = at.claim(wish_of(k, 2));
  EXPECT_EQ(met.verdict, claim_verdict::completed);
  ASSERT_TRUE(met.current.answer);
  EXPECT_EQ(*met.current.answer, *answer);
  EXPECT_EQ(met.current.claim_id, claim_number(1));
  EXPECT_EQ(at.claim(wish_of(k, 3, "b")).verdict, claim_verdict::mismatch);
}

// I4: the mismatch check outlives a failed first attempt.
void a_released_record_is_claimed_anew_by_the_same_payload(candidate& at) {
  at.release(at.win(wish_of(k, 1)));
  EXPECT_EQ(at.claim(wish_of(k, 2, "b")).verdict, claim_verdict::mismatch);
  const claim_reply met = at.claim(wish_of(k, 3));
  EXPECT_EQ(met.verdict, claim_verdict::claimed);
  EXPECT_EQ(met.kind, claim_kind::after_release);
  EXPECT_EQ(met.current.attempt, 2u);
}

void the_late_echo_of_a_released_claim_wins_nothing(candidate& at) {
  at.release(at.win(wish_of(k, 1)));
  EXPECT_NE(at.claim(wish_of(k, 1)).verdict, claim_verdict::claimed);
  EXPECT_EQ(at.look_up(k)->state, record_state::released);
}

// C73: past its retention a record is absent for every decision, although it is still there.
void an_expired_record_blocks_nothing(candidate& at) {
  at.complete(at.win(wish_of(id_of("completed"), 1)), answer_of("old"));
  at.release(at.win(wish_of(id_of("released"), 1)));
  at.win(wish_of(id_of("claimed"), 1));
  at.pass(lease + key_retention);
  for (const char* key : {"completed", "released", "claimed"}) {
    const claim_reply met = at.claim(wish_of(id_of(key), 2, "b"));
    EXPECT_EQ(met.verdict, claim_verdict::claimed) << key;
    EXPECT_EQ(met.kind, claim_kind::after_expiry) << key;
    EXPECT_EQ(met.current.attempt, 2u) << key << ": attempts never go back while the row is there";
    EXPECT_EQ(met.current.fingerprint, print_of("b")) << key;
    EXPECT_EQ(met.current.created_at, met.judged_at.wall) << key;
    const auto found = at.look_up(id_of(key));
    EXPECT_EQ(found->state, record_state::claimed) << key;
    EXPECT_FALSE(found->answer) << key << ": the old answer is never seen again";
  }
}

void a_claim_that_parks_does_not_expire(candidate& at) {
  claim_request careful = wish_of(k, 1);
  careful.terms.park = true;
  at.win(careful);
  at.pass(lease + key_retention);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::outcome_unknown);
}

// K26: only retention looks at the wall clock.
void leases_do_not_follow_the_wall_clock(candidate& at) {
  at.win(wish_of(k, 1));
  at.subject().advance(0ms, lease + key_retention);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress) << "set forward";
  at.subject().advance(0ms, -2 * key_retention);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress) << "set back";
  at.subject().advance(lease, 0ms);
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::claimed);
}

}  // namespace

const std::vector<row>& claim_rows() {
  static const std::vector<row> all{
      {"a_first_claim_wins", a_first_claim_wins},
      {"C15_ends_are_counted_in_one_unit", ends_are_counted_in_one_unit},
      {"C02_C07_a_live_claim_is_in_progress", a_live_claim_is_in_progress},
      {"C02_C04_another_payload_is_a_mismatch_while_the_first_runs",
       another_payload_is_a_mismatch_while_the_first_runs},
      {"another_fingerprint_rule_is_named_and_changes_nothing",
       another_fingerprint_rule_is_named_and_changes_nothing},
      {"a_repeated_claim_is_the_same_attempt_with_a_new_lease",
       a_repeated_claim_is_the_same_attempt_with_a_new_lease},
      {"C12_C22_C28_a_lapsed_claim_is_taken_over", a_lapsed_claim_is_taken_over},
      {"a_lapsed_claim_with_another_payload_is_a_mismatch",
       a_lapsed_claim_with_another_payload_is_a_mismatch},
      {"a_lapsed_claim_parks_at_the_wish_of_its_record",
       a_lapsed_claim_parks_at_the_wish_of_its_record},
      {"a_lapsed_claim_parks_at_the_wish_of_the_claimer",
       a_lapsed_claim_parks_at_the_wish_of_the_claimer},
      {"a_parked_record_is_never_claimed", a_parked_record_is_never_claimed},
      {"a_completed_record_is_replayed", a_completed_record_is_replayed},
      {"a_released_record_is_claimed_anew_by_the_same_payload",
       a_released_record_is_claimed_anew_by_the_same_payload},
      {"the_late_echo_of_a_released_claim_wins_nothing",
       the_late_echo_of_a_released_claim_wins_nothing},
      {"C73_an_expired_record_blocks_nothing", an_expired_record_blocks_nothing},
      {"a_claim_that_parks_does_not_expire", a_claim_that_parks_does_not_expire},
      {"C23_leases_do_not_follow_the_wall_clock", leases_do_not_follow_the_wall_clock}};
  return all;
}

}  // namespace callonce::testkit::exam
