#include "tests/model/twins.hpp"

namespace callonce::model {
namespace {

constexpr scenario plain{.name = "plain", .renewals = 0};
constexpr scenario renewing{.name = "renewing", .echoes = 0};
constexpr scenario mismatching{.name = "mismatching", .mismatch = true, .renewals = 0};
constexpr scenario parking{.name = "parking", .park = true, .renewals = 0};
constexpr scenario settling{.name = "settling", .settles = true, .renewals = 0};
constexpr scenario co_committing{.name = "co-committing", .co_commit = true, .renewals = 0};

// The fence as somebody would have it who compares only a part of it, or nothing.
enum class compared { nothing, claim_id, attempt };

fence loosened(const record* found, fence by, compared part) {
  if (found == nullptr) return by;
  if (part != compared::claim_id) by.claim_id = found->claim_id;
  if (part != compared::attempt) by.attempt = found->attempt;
  return by;
}

auto complete_comparing(compared part) {
  return [part](const record* found, const fence& by, std::shared_ptr<const stored_answer> answer,
                moment now, row_hold hold) {
    return on_complete(found, loosened(found, by, part), std::move(answer), now, hold);
  };
}

void add_fence_twins(std::vector<twin>& to) {
  to.push_back({"complete without a fence",
                "only the current claim",
                plain,
                {.complete = complete_comparing(compared::nothing)}});
  to.push_back({"complete compares the claim_id alone",
                "only the current claim",
                plain,
                {.complete = complete_comparing(compared::claim_id)}});
  to.push_back({"complete compares the attempt alone",
                "only the current claim",
                plain,
                {.complete = complete_comparing(compared::attempt)}});
  to.push_back({"release without a fence",
                "only the current claim",
                plain,
                {.release = [](const record* found, const fence& by,
                               std::chrono::milliseconds retention, moment now, row_hold hold) {
                  return on_release(found, loosened(found, by, compared::nothing), retention, now,
                                    hold);
                }}});
  to.push_back({"renew without a fence",
                "only the current claim",
                renewing,
                {.renew = [](const record* found, const fence& by, moment now, row_hold hold) {
                  return on_renew(found, loosened(found, by, compared::nothing), now, hold);
                }}});
  to.push_back({"the clock fences, too",
                "the fence decides",
                plain,
                {.complete = [](const record* found, const fence& by,
                                std::shared_ptr<const stored_answer> answer, moment now,
                                row_hold hold) -> write_step {
                  const bool late = found != nullptr && found->state == record_state::claimed &&
                                    found->lease_until <= now.lease;
                  if (late) return {};
                  return on_complete(found, by, std::move(answer), now, hold);
                }}});
  to.push_back(
      {"settle without an expected attempt",
       "an old attempt is not settled",
       settling,
       {.settle = [](const record* found, const settlement& decision, moment now, row_hold hold) {
         settlement loose = decision;
         if (found != nullptr) loose.expected_attempt = found->attempt;
         return on_settle(found, loose, now, hold);
       }}});
}

// A twin that claims by the real rule on a record it has bent.
template <class Bend>
rules claim_after(Bend bend) {
  return {
      .claim = [bend](const record* found, const claim_request& wish, moment now, row_hold hold) {
        if (found == nullptr) return on_claim(found, wish, now, hold);
        record bent = *found;
        claim_request wished = wish;
        bend(bent, wished, now);
        return on_claim(&bent, wished, now, hold);
      }};
}

// A twin that claims by the real rule, except where it has an answer of its own.
template <class Answer>
rules claim_unless(Answer answer) {
  return {
      .claim = [answer](const record* found, const claim_request& wish, moment now, row_hold hold) {
        if (found != nullptr) {
          if (const std::optional<claim_step> other = answer(*found, wish, now)) return *other;
        }
        return on_claim(found, wish, now, hold);
      }};
}

void add_claim_twins(std::vector<twin>& to) {
  using step = std::optional<claim_step>;
  static constexpr claim_step in_progress{};
  to.push_back({"no lease is looked at", "a live claim is never taken over", plain,
                claim_after([](record& found, claim_request&, moment now) {
                  found.lease_until = now.lease;
                })});
  to.push_back({"a lapsed lease is trusted for ever", "when faults stop, every key settles", plain,
                claim_after([](record& found, claim_request&, moment now) {
                  found.lease_until = now.lease + std::chrono::milliseconds{1};
                })});
  to.push_back({"mismatch is judged after in_progress", "mismatch wins", mismatching,
                claim_unless([](const record& found, const claim_request& wish, moment now) {
                  const bool alive =
                      found.state == record_state::claimed && found.lease_until > now.lease;
                  const bool own = found.claim_id == wish.claim_id;
                  return alive && !own ? step{in_progress} : step{};
                })});
  to.push_back({"the echo of a released claim claims again", "a new attempt has a new claim_id",
                plain, claim_after([](record& found, claim_request&, moment) {
                  if (found.state == record_state::released) found.claim_id = {};
                })});
  to.push_back({"a claim cannot be repeated", "can be repeated", plain,
                claim_unless([](const record& found, const claim_request& wish, moment) {
                  return found.claim_id == wish.claim_id ? step{in_progress} : step{};
                })});
  to.push_back(
      {"a takeover keeps the attempt",
       "is the next attempt",
       plain,
       {.claim = [](const record* found, const claim_request& wish, moment now, row_hold hold) {
         claim_step made = on_claim(found, wish, now, hold);
         if (made.kind == claim_kind::takeover) made.write->attempt = found->attempt;
         return made;
       }}});
  to.push_back({"a lapsed claim runs again under park", "is not run again", parking,
                claim_after([](record& found, claim_request& wish, moment) {
                  found.terms.park = wish.terms.park = false;
                })});
  to.push_back({"a parked record is claimed", "a parked record stays parked", parking,
                claim_after([](record& found, claim_request&, moment) {
                  if (found.state == record_state::parked) found.state = record_state::released;
                })});
  to.push_back({"an expired record still answers", "absent or expired", mismatching,
                claim_after([](record& found, claim_request&, moment now) {
                  found.expires_at = now.wall + std::chrono::milliseconds{1};
                })});
  to.push_back({"a claim passes a held row",
                "no claim passes a held row",
                co_committing,
                {.claim = [](const record* found, const claim_request& wish, moment now, row_hold) {
                  return on_claim(found, wish, now, row_hold::free);
                }}});
}

void add_other_twins(std::vector<twin>& to) {
  to.push_back(
      {"a second answer replaces the first",
       "a completed answer never changes",
       co_committing,
       {.complete = [](const record* found, const fence& by,
                       std::shared_ptr<const stored_answer> answer, moment now, row_hold hold) {
         if (found == nullptr) return on_complete(found, by, std::move(answer), now, hold);
         record open = *found;
         if (open.state == record_state::completed) open.state = record_state::claimed;
         return on_complete(&open, by, std::move(answer), now, hold);
       }}});
  to.push_back({"a release forgets the fingerprint",
                "the fingerprint stays",
                plain,
                {.release = [](const record* found, const fence& by,
                               std::chrono::milliseconds retention, moment now, row_hold hold) {
                  write_step made = on_release(found, by, retention, now, hold);
                  if (made.write) made.write->fingerprint = {};
                  return made;
                }}});
  to.push_back(
      {"a release cannot be repeated",
       "may be repeated",
       plain,
       {.release = [](const record* found, const fence& by, std::chrono::milliseconds retention,
                      moment now, row_hold hold) -> write_step {
         if (found != nullptr && found->state == record_state::released) return {};
         return on_release(found, by, retention, now, hold);
       }}});
  to.push_back({"the purger looks at the retention alone",
                "a live record is never deleted",
                plain,
                {.purge = [](const record& found, moment now, row_hold) {
                  return found.expires_at <= now.wall ? purge_verdict::remove : purge_verdict::keep;
                }}});
  to.push_back({"the purger drops bodies early",
                "a body stays for its retention",
                plain,
                {.purge = [](const record& found, moment now, row_hold hold) {
                  record older = found;
                  older.body_until = now.wall;
                  return on_purge(older, now, hold);
                }}});
}

}  // namespace

std::vector<twin> broken_twins() {
  std::vector<twin> made;
  add_fence_twins(made);
  add_claim_twins(made);
  add_other_twins(made);
  return made;
}

}  // namespace callonce::model
