#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <callonce/core/transition.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using state = record_state;
using verdict = claim_verdict;

constexpr moment now{instant{1000s}, instant{500'000s}};  // lease clock and wall clock differ
constexpr std::uint32_t attempt = 3;

claim_id id_of(int number) {
  claim_id made{};
  made[0] = static_cast<std::byte>(number);
  return made;
}
const claim_id mine = id_of(1);
const claim_id theirs = id_of(2);

std::shared_ptr<const stored_answer> answer(const char* body) {
  auto made = std::make_shared<stored_answer>();
  made->status = 201;
  made->body = std::string{body};
  return made;
}

fingerprint print_of(int number, int rule = 1) {
  fingerprint made{static_cast<fingerprint_rule>(rule), {}};
  made.value[0] = static_cast<std::byte>(number);
  return made;
}

claim_terms terms(bool park = false) {
  return {10s, 24h, 7 * 24h, 1024, park, "charges"};
}

struct situation {
  state is = state::claimed;
  bool own = false;  ///< The claim's own claim_id is in the row.
  bool expired = false;
  bool lapsed = false;
  bool held = false;
  bool record_parks = false;
  bool wish_parks = false;
  int print = 0;  ///< 0: the same, 1: another, 2: another under another rule.
};

std::string described(const situation& s) {
  return std::string{to_string(s.is)} + (s.own ? " own" : " foreign") +
         (s.expired ? " expired" : "") + (s.lapsed ? " lapsed" : " alive") +
         (s.held ? " held" : "") + (s.record_parks ? " record-parks" : "") +
         (s.wish_parks ? " wish-parks" : "") + " print " + std::to_string(s.print);
}

record found_in(const situation& s) {
  record made;
  made.id = identity{scope_hash{}, key{"k"}};
  made.fingerprint = print_of(1);
  made.state = s.is;
  made.attempt = attempt;
  made.claim_id = s.own ? mine : theirs;
  made.terms = terms(s.record_parks);
  made.created_at = now.wall - 1h;
  made.lease_until = now.lease + (s.lapsed ? 0s : 4s);
  made.expires_at = now.wall + (s.expired ? 0s : 1h);
  if (s.is == state::completed) {
    made.completed_at = now.wall - 1h;
    made.body_until = now.wall + 1min;
    made.answer = answer("stored");
  }
  return made;
}

claim_request wish_in(const situation& s) {
  const int rule = s.print == 2 ? 2 : 1;
  return {identity{scope_hash{}, key{"k"}}, print_of(s.print == 0 ? 1 : 2, rule), mine,
          terms(s.wish_parks)};
}

template <class Visit>
void for_each_situation(Visit visit) {
  for (const state is : {state::claimed, state::completed, state::released, state::parked}) {
    for (int bits = 0; bits < 64; ++bits) {
      for (int print = 0; print < 3; ++print) {
        const auto bit = [&](int at) { return (bits >> at & 1) != 0; };
        const situation s{is, bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), print};
        visit(s);
      }
    }
  }
}

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

enum class write { renew, complete, complete_otherwise, release, park };
constexpr write writes[] = {write::renew, write::complete, write::complete_otherwise,
                            write::release, write::park};

write_step apply(write what, const record* found, const fence& by, row_hold hold) {
  switch (what) {
    case write::renew:
      return on_renew(found, by, now, hold);
    case write::complete:
      return on_complete(found, by, answer("stored"), now, hold);
    case write::complete_otherwise:
      return on_complete(found, by, answer("other"), now, hold);
    case write::release:
      return on_release(found, by, 1h, now, hold);
    case write::park:
      return on_park(found, by, hold);
  }
  return {};
}

struct write_answer {
  write_verdict said;
  bool changes;
};

// The write column of design section 4.
write_answer by_the_table(write what, const situation& s) {
  const write_answer lost{write_verdict::lease_lost, false};
  const write_answer repeated{write_verdict::done, false};
  const write_answer applied =
      s.held ? write_answer{write_verdict::busy, false} : write_answer{write_verdict::done, true};
  const bool completes = what == write::complete || what == write::complete_otherwise;
  switch (s.is) {
    case state::parked:
      if (completes) return applied;
      return what == write::park ? repeated : lost;
    case state::completed:
      return what == write::complete ? repeated : lost;
    case state::released:
      return what == write::release ? repeated : lost;
    case state::claimed:
      return applied;
  }
  return lost;
}

// L-06: neither a lapsed lease nor a past retention refuses the record's own claim.
TEST(Write, EverySituationOfTheOwnClaimAsTheTableSays) {
  for_each_situation([](const situation& s) {
    if (!s.own) return;
    const record found = found_in(s);
    for (const write what : writes) {
      SCOPED_TRACE(described(s) + ", write " + std::to_string(static_cast<int>(what)));
      const write_step step =
          apply(what, &found, {found.id, mine, attempt}, s.held ? row_hold::held : row_hold::free);
      const write_answer expected = by_the_table(what, s);
      EXPECT_EQ(step.verdict, expected.said);
      EXPECT_EQ(step.write.has_value(), expected.changes);
      if (!step.write) continue;
      EXPECT_EQ(step.write->attempt, attempt);
      EXPECT_EQ(step.write->claim_id, mine) << "claim_id stays in every state";
      EXPECT_EQ(step.write->fingerprint, found.fingerprint);
      EXPECT_EQ(step.write->created_at, found.created_at);
    }
  });
}

// C26, C27, L-09, L-10, L-11: the fence is the pair.
TEST(Write, AnyOtherClaimOrAttemptIsLeaseLost) {
  for_each_situation([](const situation& s) {
    const record found = found_in(s);
    const claim_id current = found.claim_id;
    const claim_id other = s.own ? theirs : mine;
    const fence wrong[] = {{found.id, other, attempt},
                           {found.id, current, attempt - 1},
                           {found.id, current, attempt + 1}};
    for (const fence& by : wrong) {
      for (const write what : writes) {
        const write_step step = apply(what, &found, by, s.held ? row_hold::held : row_hold::free);
        EXPECT_EQ(step.verdict, write_verdict::lease_lost) << described(s);
        EXPECT_FALSE(step.write.has_value()) << described(s);
      }
    }
  });
}

TEST(Write, ToNothingIsLeaseLost) {
  for (const write what : writes) {
    const write_step step = apply(what, nullptr, {{}, mine, 1}, row_hold::free);
    EXPECT_EQ(step.verdict, write_verdict::lease_lost);
    EXPECT_FALSE(step.write.has_value());
  }
}

const fence own_fence{identity{scope_hash{}, key{"k"}}, mine, attempt};

TEST(Renew, StampsTheLeaseAndNeverShortensIt) {
  record found = found_in({state::claimed, true});
  EXPECT_EQ(on_renew(&found, own_fence, now).write->lease_until, now.lease + 10s);
  found.lease_until = now.lease + 1h;
  EXPECT_EQ(on_renew(&found, own_fence, now).write->lease_until, now.lease + 1h);
}

// Both retentions are counted from completion.
TEST(Complete, StoresTheAnswerAndBothRetentions) {
  const record found = found_in({state::claimed, true});
  const record next = on_complete(&found, own_fence, answer("x"), now).write.value();
  EXPECT_EQ(next.state, state::completed);
  EXPECT_EQ(next.answer->body.text(), "x");
  EXPECT_EQ(next.completed_at, now.wall);
  EXPECT_EQ(next.body_until, now.wall + 24h);
  EXPECT_EQ(next.expires_at, now.wall + 7 * 24h);
}

TEST(Complete, AnUnreadableStoredAnswerIsNeverReplaced) {
  record found = found_in({state::completed, true});
  found.answer = nullptr;
  EXPECT_EQ(on_complete(&found, own_fence, answer("x"), now).verdict, write_verdict::lease_lost);
}

TEST(Release, KeepsTheRowForItsRetention) {
  const record found = found_in({state::claimed, true});
  const record next = on_release(&found, own_fence, 1min, now).write.value();
  EXPECT_EQ(next.state, state::released);
  EXPECT_EQ(next.expires_at, now.wall + 1min);
  EXPECT_EQ(next.fingerprint, found.fingerprint) << "F-04";
}

TEST(Park, ChangesTheStateOnly) {
  const record found = found_in({state::claimed, true});
  record expected = found;
  expected.state = state::parked;
  const record next = on_park(&found, own_fence).write.value();
  EXPECT_EQ(next.state, state::parked);
  EXPECT_EQ(next.expires_at, found.expires_at);
  EXPECT_EQ(next.lease_until, found.lease_until);
}

const claim_id operators = id_of(9);

settlement decision(std::uint32_t expected, bool completed) {
  return {identity{scope_hash{}, key{"k"}}, expected, operators,
          completed ? answer("settled") : nullptr, 2h};
}

TEST(Settle, AcceptedOnParkedReleasedAndClaimedOnly) {
  for_each_situation([](const situation& s) {
    const record found = found_in(s);
    for (const bool completed : {false, true}) {
      SCOPED_TRACE(described(s) + (completed ? " to completed" : " to released"));
      const write_step step = on_settle(&found, decision(attempt, completed), now,
                                        s.held ? row_hold::held : row_hold::free);
      if (s.is == state::completed) {
        EXPECT_EQ(step.verdict, write_verdict::lease_lost);
        EXPECT_FALSE(step.write.has_value());
        continue;
      }
      if (s.held) {
        EXPECT_EQ(step.verdict, write_verdict::busy);
        EXPECT_FALSE(step.write.has_value());
        continue;
      }
      ASSERT_EQ(step.verdict, write_verdict::done);
      const record& next = step.write.value();
      EXPECT_EQ(next.attempt, attempt + 1) << "fences the owner, alive or not";
      EXPECT_EQ(next.claim_id, operators);
      EXPECT_EQ(next.fingerprint, found.fingerprint);
      EXPECT_EQ(next.state, completed ? state::completed : state::released);
      EXPECT_EQ(next.expires_at, now.wall + (completed ? 7 * 24h : 2h));
      if (completed) {
        EXPECT_EQ(next.answer->body.text(), "settled");
        EXPECT_EQ(next.body_until, now.wall + 24h);
      }
    }
  });
}

TEST(Settle, L15AStaleAttemptIsRefused) {
  for (const state is : {state::claimed, state::released, state::parked}) {
    const record found = found_in({is});
    for (const std::uint32_t stale : {attempt - 1, attempt + 1}) {
      const write_step step = on_settle(&found, decision(stale, true), now);
      EXPECT_EQ(step.verdict, write_verdict::lease_lost);
      EXPECT_FALSE(step.write.has_value());
    }
  }
  EXPECT_EQ(on_settle(nullptr, decision(attempt, true), now).verdict, write_verdict::lease_lost);
}

TEST(Settle, ARepeatedDecisionIsDoneOnce) {
  const record found = found_in({state::parked});
  for (const bool completed : {false, true}) {
    const record settled = on_settle(&found, decision(attempt, completed), now).write.value();
    const write_step again = on_settle(&settled, decision(attempt, completed), now);
    EXPECT_EQ(again.verdict, write_verdict::done);
    EXPECT_FALSE(again.write.has_value());
  }
}

TEST(Purge, EverySituation) {
  for_each_situation([](const situation& s) {
    const record found = found_in(s);
    purge_verdict expected = purge_verdict::keep;
    const bool ended = s.is == state::completed || s.is == state::released;
    const bool abandoned = s.is == state::claimed && s.lapsed;
    if (!s.held && abandoned && s.record_parks) expected = purge_verdict::park;
    if (!s.held && s.expired && (ended || (abandoned && !s.record_parks))) {
      expected = purge_verdict::remove;  // C72, T-04, T-10: never a live claim, never a parked one
    }
    EXPECT_EQ(on_purge(found, now, s.held ? row_hold::held : row_hold::free), expected)
        << described(s);
  });
}

TEST(Purge, T01DropsABodyAfterItsRetention) {
  record found = found_in({state::completed});
  found.body_until = now.wall + 1ms;
  EXPECT_EQ(on_purge(found, now), purge_verdict::keep);
  EXPECT_TRUE(body_available(found, now.wall));
  found.body_until = now.wall;
  EXPECT_EQ(on_purge(found, now), purge_verdict::drop_body);
  EXPECT_FALSE(body_available(found, now.wall)) << "also before the purger came";
}

TEST(Purge, AnAnswerThatNeverHadABodyAlwaysReplays) {
  record found = found_in({state::completed});
  found.answer = std::make_shared<const stored_answer>();
  found.body_until = now.wall - 1h;
  EXPECT_EQ(on_purge(found, now), purge_verdict::keep);
  EXPECT_TRUE(body_available(found, now.wall));
}

TEST(BodyAvailable, NotWhereItWasOmittedOrCannotBeRead) {
  record found = found_in({state::completed});
  for (const auto why : {body_omitted::cap, body_omitted::stream, body_omitted::expired}) {
    stored_answer without = *answer("");
    without.omitted = why;
    found.answer = std::make_shared<const stored_answer>(without);
    EXPECT_FALSE(body_available(found, now.wall));
  }
  found.answer = nullptr;
  EXPECT_FALSE(body_available(found, now.wall)) << "C83";
}

}  // namespace
}  // namespace callonce
