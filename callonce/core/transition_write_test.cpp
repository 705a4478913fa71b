#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <callonce/core/transition.hpp>

#include "callonce/core/transition_test.hpp"

namespace callonce {
namespace {

using namespace situations;

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
