#include "tests/model/invariants.hpp"

#include "tests/model/store.hpp"

namespace callonce::model {
namespace {

using state = record_state;

// Past its retention, and neither alive nor of unknown outcome: as good as absent.
bool expired(const row& found) {
  if (found.present == 0 || found.expires_left > 0) return false;
  const bool abandoned = found.state == state::claimed && found.lease_left == 0 && found.park == 0;
  return found.state == state::released || found.state == state::completed || abandoned;
}

bool absent(const row& found) {
  return found.present == 0 || expired(found);
}

std::string_view broken_record(const row& before, const row& after, const act& did) {
  if (before.present == 0) return {};
  if (after.present == 0) {
    if (!expired(before)) return "a live record is never deleted (I19)";
    return {};
  }
  if (after.attempt < before.attempt) return "attempt never decreases (I3)";
  if (after.attempt > before.attempt && after.claim == before.claim) {
    return "a new attempt has a new claim_id (I3)";
  }
  if (after.claim != before.claim && after.attempt != before.attempt + 1) {
    return "a new claim is the next attempt (I3)";
  }
  const bool may_start_anew = expired(before) && did.what == deed::claim;
  if (may_start_anew) return {};
  if (after.print != before.print) return "the fingerprint stays until expiry (I4)";
  if (before.state != state::completed) return {};
  const bool younger =
      after.expires_left > before.expires_left || after.body_dropped < before.body_dropped;
  if (younger) return "a completed answer never changes before expiry (I5)";
  row without_body = after;
  without_body.body_dropped = before.body_dropped;
  row aged = before;
  aged.expires_left = after.expires_left;
  aged.body_left = after.body_left;
  if (!(without_body == aged)) return "a completed answer never changes before expiry (I5)";
  const bool dropped = after.body_dropped != before.body_dropped;
  if (dropped && before.body_left > 0) return "a body stays for its retention";
  return {};
}

// Of a claim that was not won, by somebody else's record.
std::string_view broken_refusal(const row& before, const act& did) {
  using said = claim_verdict;
  if (absent(before)) return "an absent or expired record is claimed at once";
  const bool mismatch = did.claim_said == said::mismatch;
  if (mismatch != (before.print != did.print)) return "mismatch wins over every other answer";
  if (mismatch) return {};
  switch (before.state) {
    case state::claimed:
      if (did.claim_said == said::in_progress && before.lease_left > 0) return {};
      if (did.claim_said == said::outcome_unknown && before.lease_left == 0) return {};
      return "a live claim is in progress, a lapsed one is taken over or parked";
    case state::completed:
      return did.claim_said == said::completed ? "" : "a completed record is replayed (I10)";
    case state::parked:
      return did.claim_said == said::outcome_unknown ? "" : "a parked record says so (I18)";
    case state::released:
      return "a released record is claimed at once";
  }
  return {};
}

std::string_view broken_claim(const row& before, const row& after, const act& did) {
  using said = claim_verdict;
  const bool changed = !(before == after);
  const bool own = before.present != 0 && before.claim == did.claim;
  if (did.claim_said == said::claimed) {
    if (after.state != state::claimed || after.claim != did.claim || after.lease_left == 0) {
      return "what was claimed is claimed in the store (I2)";
    }
    if (did.held != 0) return "no claim passes a held row";
    if (absent(before)) return {};
    if (before.print != did.print) return "a mismatch never executes";
    if (before.state == state::parked) return "a parked record never executes by itself (I18)";
    if (before.state == state::completed) return "a completed record never executes again (I5)";
    if (before.state == state::released || own) return {};
    if (before.lease_left > 0) return "a live claim is never taken over (I2)";
    if (before.park != 0 || did.park != 0) return "under park a lapsed claim is not run again";
    return {};
  }
  const bool parks = did.claim_said == said::outcome_unknown && !absent(before) && !own &&
                     did.held == 0 && before.state == state::claimed && before.lease_left == 0 &&
                     after.state == state::parked;
  if (changed && !parks) return "a refused claim changes nothing (I8)";
  if (own && before.state == state::claimed) {
    if (did.held != 0 && did.claim_said == said::busy) return {};
    return "a claim can be repeated under its claim_id";
  }
  if (did.held != 0 || own) return {};
  return broken_refusal(before, did);
}

// What the record's own claim may write, and may repeat.
std::string_view broken_own_write(const row& before, const act& did) {
  const bool done = did.write_said == write_verdict::done;
  const bool late_truth = did.what == deed::complete && before.state == state::parked;
  if (before.state == state::claimed || late_truth) {
    const bool waits = did.held != 0 && did.own_transaction == 0;
    if (waits) return done ? "no write passes a held row" : "";
    return done ? "" : "the fence decides, not the clock (L-06)";
  }
  const bool repeats = (did.what == deed::release && before.state == state::released) ||
                       (did.what == deed::park && before.state == state::parked) ||
                       (did.what == deed::complete && before.state == state::completed &&
                        before.answer == did.answer && before.body_dropped == 0);
  if (repeats != done) return "a write is done once, and may be repeated";
  return {};
}

std::string_view broken_write(const row& before, const row& after, const act& did) {
  const bool changed = !(before == after);
  const bool done = did.write_said == write_verdict::done;
  if (changed && !done) return "a refused write changes nothing (I8)";
  const bool current =
      before.present != 0 && before.claim == did.claim && before.attempt == did.attempt;
  if (did.what != deed::settle) {
    if (current) return broken_own_write(before, did);
    return done ? "only the current claim writes (I6)" : "";
  }
  if (changed && did.held != 0) return "no write passes a held row";
  if (changed && before.attempt != did.attempt) return "an old attempt is not settled (L-15)";
  const bool repeats = before.present != 0 && before.claim == did.claim;
  if (repeats && !done) return "a settlement may be repeated";
  return {};
}

}  // namespace

std::string_view broken_by(const world& before, const step& taken) {
  const row& was = before.found;
  const row& is = taken.after.found;
  if (const auto broken = broken_record(was, is, taken.did); !broken.empty()) return broken;
  switch (taken.did.what) {
    case deed::none:
    case deed::lapse:
    case deed::wall:
      return {};
    case deed::claim:
      return broken_claim(was, is, taken.did);
    case deed::purge:
      if (before.held != 0 && !(was == is)) return "no purger passes a held row";
      return {};
    default:
      return broken_write(was, is, taken.did);
  }
}

std::string_view broken_in(const world& now, const scenario& of) {
  for (small who = 0; who < of.clients; ++who) {
    const client& c = now.clients[who];
    if (c.at != phase::running || c.trusted == 0) continue;
    const row& found = now.found;
    const bool owns =
        found.present != 0 && found.attempt == c.attempt && found.claim == claim_of(who, c.request);
    if (!owns) return "while its lease holds, a run owns the record: runs never overlap";
  }
  return {};
}

std::string_view unsettled(const row& left_behind, const scenario& of, store& records) {
  row found = left_behind;
  act claims{.what = deed::claim,
             .claim = late_claim,
             .print = found.present != 0 ? found.print : small{1},
             .park = of.park ? small{1} : small{0}};
  const auto ask = [&] { return records.apply(found, claims).claim_said; };
  const auto write = [&](deed what, small claim, small answer) {
    const act question{.what = what, .claim = claim, .attempt = found.attempt, .answer = answer};
    return records.apply(found, question).write_said == write_verdict::done;
  };

  claim_verdict said = ask();
  if (said == claim_verdict::in_progress) {
    found.lease_left = 0;
    said = ask();
  }
  if (said == claim_verdict::outcome_unknown) {
    ++claims.claim;
    if (ask() != claim_verdict::outcome_unknown) return "a parked record stays parked (I18)";
    if (!write(deed::settle, operator_claim + 1, 0)) return "a parked record can be settled";
    said = ask();
  }
  if (said == claim_verdict::claimed) {
    if (!write(deed::complete, claims.claim, claims.claim)) return "a winner can complete";
    ++claims.claim;
    said = ask();
  }
  if (said != claim_verdict::completed) return "when faults stop, every key settles";
  return {};
}

}  // namespace callonce::model
