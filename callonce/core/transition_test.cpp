#include "callonce/core/transition_test.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <callonce/core/transition.hpp>

namespace callonce {
namespace {

using namespace situations;

struct claim_answer {
  verdict said;
  std::optional<claim_kind> won;
  bool becomes_parked = false;
};

// The claim columns of design section 4, line by line, the first that fits decides. Two readings
// join it: a claim_id wins one attempt of a row (3.6 I3), and what would write to a held row
// waits.
claim_answer by_the_table(const situation& s) {
  if (s.own && s.is == state::claimed) {
    if (s.held) return {verdict::busy, {}};
    return {verdict::claimed, claim_kind::repeat};
  }
  const bool ended = s.is == state::released || s.is == state::completed;
  const bool abandoned = s.is == state::claimed && s.lapsed && !s.record_parks;
  if (s.expired && !s.own && (ended || abandoned)) {
    if (s.held) return {verdict::in_progress, {}};
    return {verdict::claimed, claim_kind::after_expiry};
  }
  if (s.print == 2) return {verdict::other_rule, {}};
  if (s.print == 1) return {verdict::mismatch, {}};
  if (s.is == state::parked) return {verdict::outcome_unknown, {}};
  if (s.is == state::completed) return {verdict::completed, {}};
  if (s.is == state::released) {
    if (s.own || s.held) return {verdict::in_progress, {}};
    return {verdict::claimed, claim_kind::after_release};
  }
  if (!s.lapsed || s.held) return {verdict::in_progress, {}};
  if (s.record_parks || s.wish_parks) return {verdict::outcome_unknown, {}, true};
  return {verdict::claimed, claim_kind::takeover};
}

TEST(Claim, EverySituationAsTheTableSays) {
  int situations = 0;
  for_each_situation([&](const situation& s) {
    SCOPED_TRACE(described(s));
    const record found = found_in(s);
    const claim_step step =
        on_claim(&found, wish_in(s), now, s.held ? row_hold::held : row_hold::free);
    const claim_answer expected = by_the_table(s);
    ++situations;
    ASSERT_EQ(step.verdict, expected.said);
    ASSERT_EQ(step.write.has_value(), expected.won.has_value() || expected.becomes_parked);
    if (expected.won) {
      EXPECT_EQ(step.kind, *expected.won);
      EXPECT_EQ(step.write->state, state::claimed);
      EXPECT_EQ(step.write->claim_id, mine);
      EXPECT_EQ(step.write->attempt, *expected.won == claim_kind::repeat ? attempt : attempt + 1);
      EXPECT_EQ(step.write->lease_until, now.lease + 10s);
      EXPECT_EQ(step.write->expires_at, now.wall + 10s + 7 * 24h) << "lease and key retention";
      EXPECT_EQ(step.write->answer, nullptr);
    }
    if (expected.becomes_parked) {
      EXPECT_EQ(step.write->state, state::parked);
      EXPECT_EQ(step.write->attempt, attempt);
      EXPECT_EQ(step.write->claim_id, theirs);
    }
  });
  EXPECT_EQ(situations, 4 * 64 * 3);
}

TEST(Claim, OfNothingIsTheFirstAttempt) {
  const claim_step step = on_claim(nullptr, wish_in({}), now);
  ASSERT_TRUE(step.write.has_value());
  EXPECT_EQ(step.verdict, verdict::claimed);
  EXPECT_EQ(step.kind, claim_kind::first);
  const record& made = *step.write;
  EXPECT_EQ(made.id, wish_in({}).id);
  EXPECT_EQ(made.state, state::claimed);
  EXPECT_EQ(made.attempt, 1U);
  EXPECT_EQ(made.claim_id, mine);
  EXPECT_EQ(made.fingerprint, print_of(1));
  EXPECT_EQ(made.terms, terms());
  EXPECT_EQ(made.created_at, now.wall);
  EXPECT_EQ(made.lease_until, now.lease + 10s);
}

TEST(Claim, KeepsFingerprintAndBirthdayUntilExpiry) {
  const record released = found_in({state::released});
  const record next = on_claim(&released, wish_in({}), now).write.value();
  EXPECT_EQ(next.fingerprint, released.fingerprint);
  EXPECT_EQ(next.created_at, released.created_at);

  situation expired{state::completed};
  expired.expired = true;
  expired.print = 2;
  const record old = found_in(expired);
  const record renewed = on_claim(&old, wish_in(expired), now).write.value();  // T-02
  EXPECT_EQ(renewed.fingerprint, print_of(2, 2)) << "after expiry the fingerprint is new";
  EXPECT_EQ(renewed.created_at, now.wall);
  EXPECT_EQ(renewed.attempt, attempt + 1) << "the attempt goes on while the row is there";
}

TEST(Claim, NeverShortensTheRetentionOfALiveRecord) {
  record released = found_in({state::released});
  released.expires_at = now.wall + 365 * 24h;
  EXPECT_EQ(on_claim(&released, wish_in({}), now).write->expires_at, released.expires_at);
}

TEST(Claim, ARepeatChangesNothingButTimes) {
  situation s{state::claimed, true};
  s.print = 1;  // even where a caller mixed up what it asked
  const record found = found_in(s);
  const record next = on_claim(&found, wish_in(s), now).write.value();
  EXPECT_EQ(next.fingerprint, found.fingerprint);
  EXPECT_EQ(next.terms, found.terms);
  EXPECT_EQ(next.created_at, found.created_at);
}

TEST(Claim, LeaseAndRetentionEndAtTheirInstant) {
  record found = found_in({});
  found.lease_until = now.lease + 1ms;
  EXPECT_EQ(on_claim(&found, wish_in({}), now).verdict, verdict::in_progress);
  found.lease_until = now.lease;
  EXPECT_EQ(on_claim(&found, wish_in({}), now).kind, claim_kind::takeover);
  record done = found_in({state::completed});
  done.expires_at = now.wall + 1ms;
  EXPECT_EQ(on_claim(&done, wish_in({}), now).verdict, verdict::completed) << "C71";
  done.expires_at = now.wall;
  EXPECT_EQ(on_claim(&done, wish_in({}), now).kind, claim_kind::after_expiry) << "C73";
}

// The clocks never mix (C23, L-17): a wall clock set far forward lapses no lease, and the lease
// clock ends no retention.
TEST(Claim, LeasesAndRetentionsHaveTheirOwnClocks) {
  const record alive = found_in({});
  const moment far_wall{now.lease, now.wall + 365 * 24h};
  EXPECT_EQ(on_claim(&alive, wish_in({}), far_wall).verdict, verdict::in_progress) << "T-04";
  const record done = found_in({state::completed});
  const moment far_lease{now.lease + 365 * 24h, now.wall};
  EXPECT_EQ(on_claim(&done, wish_in({}), far_lease).verdict, verdict::completed);
}

}  // namespace
}  // namespace callonce
