#include <algorithm>

#include <callonce/core/transition.hpp>

namespace callonce {
namespace {

bool lapsed(const record& found, moment now) {
  return found.lease_until <= now.lease;
}

// Past its retention a record is absent for every decision, purged or not; but a live claim never
// is, nor one whose outcome is unknown.
bool expired(const record& found, moment now) {
  if (found.expires_at > now.wall) return false;
  switch (found.state) {
    case record_state::completed:
    case record_state::released:
      return true;
    case record_state::claimed:
      return lapsed(found, now) && !found.terms.park;
    case record_state::parked:
      return false;
  }
  return false;
}

instant claim_expiry(const claim_terms& terms, moment now) {
  return now.wall + terms.lease + terms.key_retention;
}

record fresh(const claim_request& wish, std::uint32_t attempt, moment now) {
  record made;
  made.id = wish.id;
  made.fingerprint = wish.fingerprint;
  made.attempt = attempt;
  made.claim_id = wish.claim_id;
  made.terms = wish.terms;
  made.created_at = now.wall;
  made.lease_until = now.lease + wish.terms.lease;
  made.expires_at = claim_expiry(wish.terms, now);
  return made;
}

claim_step won(const record& found, const claim_request& wish, claim_kind kind, moment now) {
  record next = fresh(wish, found.attempt + 1, now);
  if (kind != claim_kind::after_expiry) {
    next.created_at = found.created_at;
    next.expires_at = std::max(found.expires_at, next.expires_at);
  }
  return {claim_verdict::claimed, kind, std::move(next)};
}

claim_step repeated(const record& found, moment now) {
  record next = found;
  next.lease_until = now.lease + found.terms.lease;
  next.expires_at = std::max(found.expires_at, claim_expiry(found.terms, now));
  return {claim_verdict::claimed, claim_kind::repeat, std::move(next)};
}

claim_step parked_instead(const record& found) {
  record next = found;
  next.state = record_state::parked;
  return {claim_verdict::outcome_unknown, {}, std::move(next)};
}

claim_step claim_free_row(const record& found, const claim_request& wish, moment now) {
  // A claim_id wins once: where its attempt has ended, this is a late echo of a claim.
  const bool own = found.claim_id == wish.claim_id;
  if (own && found.state == record_state::claimed) return repeated(found, now);
  if (!own && expired(found, now)) return won(found, wish, claim_kind::after_expiry, now);
  if (found.fingerprint.rule != wish.fingerprint.rule) return {claim_verdict::other_rule, {}, {}};
  if (found.fingerprint != wish.fingerprint) return {claim_verdict::mismatch, {}, {}};

  switch (found.state) {
    case record_state::parked:
      return {claim_verdict::outcome_unknown, {}, {}};
    case record_state::completed:
      return {claim_verdict::completed, {}, {}};
    case record_state::released:
      if (own) return {claim_verdict::in_progress, {}, {}};
      return won(found, wish, claim_kind::after_release, now);
    case record_state::claimed:
      break;
  }
  if (!lapsed(found, now)) return {claim_verdict::in_progress, {}, {}};
  const bool used_up = wish.attempts_max != 0 && found.attempt >= wish.attempts_max;
  if (found.terms.park || wish.terms.park || used_up) return parked_instead(found);
  return won(found, wish, claim_kind::takeover, now);
}

write_step done_with(record next) {
  return {write_verdict::done, std::move(next)};
}
write_step refused() {
  return {write_verdict::lease_lost, std::nullopt};
}
write_step already_done() {
  return {write_verdict::done, std::nullopt};
}
write_step busy() {
  return {write_verdict::busy, std::nullopt};
}

bool is_own(const record* found, const fence& by) {
  return found != nullptr && found->claim_id == by.claim_id && found->attempt == by.attempt;
}

void complete_with(record& next, std::shared_ptr<const stored_answer> answer, moment now) {
  next.state = record_state::completed;
  next.answer = std::move(answer);
  next.completed_at = now.wall;
  next.body_until = now.wall + next.terms.retention;
  next.expires_at = now.wall + std::max(next.terms.key_retention, next.terms.retention);
}

void release_for(record& next, std::chrono::milliseconds retention, moment now) {
  next.state = record_state::released;
  next.expires_at = now.wall + retention;
}

}  // namespace

std::string_view to_string(claim_kind kind) noexcept {
  switch (kind) {
    case claim_kind::first:
      return "first";
    case claim_kind::after_release:
      return "after_release";
    case claim_kind::takeover:
      return "takeover";
    case claim_kind::after_expiry:
      return "after_expiry";
    case claim_kind::repeat:
      return "repeat";
  }
  return "unknown";
}

claim_step on_claim(const record* found, const claim_request& wish, moment now, row_hold hold) {
  if (found == nullptr) return {claim_verdict::claimed, claim_kind::first, fresh(wish, 1, now)};
  claim_step step = claim_free_row(*found, wish, now);
  if (hold == row_hold::free || !step.write) return step;
  const bool repeat = step.kind == claim_kind::repeat;
  return {repeat ? claim_verdict::busy : claim_verdict::in_progress, {}, {}};
}

write_step on_renew(const record* found, const fence& by, moment now, row_hold hold) {
  if (!is_own(found, by) || found->state != record_state::claimed) return refused();
  if (hold == row_hold::held) return busy();
  record next = *found;
  next.lease_until = std::max(next.lease_until, now.lease + next.terms.lease);
  return done_with(std::move(next));
}

write_step on_complete(const record* found, const fence& by,
                       std::shared_ptr<const stored_answer> answer, moment now, row_hold hold) {
  if (!is_own(found, by)) return refused();
  if (found->state == record_state::completed) {
    const bool same = found->answer && *found->answer == *answer;
    return same ? already_done() : refused();
  }
  if (found->state == record_state::released) return refused();
  if (hold == row_hold::held) return busy();
  record next = *found;
  complete_with(next, std::move(answer), now);
  return done_with(std::move(next));
}

write_step on_release(const record* found, const fence& by, std::chrono::milliseconds retention,
                      moment now, row_hold hold) {
  if (!is_own(found, by)) return refused();
  if (found->state == record_state::released) return already_done();
  if (found->state != record_state::claimed) return refused();
  if (hold == row_hold::held) return busy();
  record next = *found;
  release_for(next, retention, now);
  return done_with(std::move(next));
}

write_step on_park(const record* found, const fence& by, row_hold hold) {
  if (!is_own(found, by)) return refused();
  if (found->state == record_state::parked) return already_done();
  if (found->state != record_state::claimed) return refused();
  if (hold == row_hold::held) return busy();
  record next = *found;
  next.state = record_state::parked;
  return done_with(std::move(next));
}

write_step on_settle(const record* found, const settlement& decision, moment now, row_hold hold) {
  if (found == nullptr) return refused();
  if (found->claim_id == decision.claim_id) return already_done();
  if (found->state == record_state::completed) return refused();
  if (found->attempt != decision.expected_attempt) return refused();
  if (hold == row_hold::held) return busy();
  record next = *found;
  next.attempt = found->attempt + 1;
  next.claim_id = decision.claim_id;
  if (decision.answer) {
    complete_with(next, decision.answer, now);
  } else {
    release_for(next, decision.released_retention, now);
  }
  return done_with(std::move(next));
}

purge_verdict on_purge(const record& found, moment now, row_hold hold) {
  if (hold == row_hold::held) return purge_verdict::keep;
  if (found.state == record_state::claimed && found.terms.park && lapsed(found, now)) {
    return purge_verdict::park;
  }
  if (expired(found, now)) return purge_verdict::remove;
  if (found.state == record_state::completed && found.body_until <= now.wall && found.answer &&
      !found.answer->body.empty()) {
    return purge_verdict::drop_body;
  }
  return purge_verdict::keep;
}

bool body_available(const record& completed, instant wall_now) {
  if (!completed.answer || completed.answer->omitted != body_omitted::none) return false;
  return completed.answer->body.empty() || wall_now < completed.body_until;
}

}  // namespace callonce
