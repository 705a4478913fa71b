#pragma once

#include <optional>

#include <callonce/core/record.hpp>

namespace callonce {

// The rules of a record, pure: what a store finds, what it is asked, what it writes and answers.
// Every store applies exactly these, in one atomic conditional write.

/// How a claim came to be won.
enum class claim_kind : std::uint8_t { first, after_release, takeover, after_expiry, repeat };
std::string_view to_string(claim_kind kind) noexcept;

/// What a wish to win a record is answered.
enum class claim_verdict : std::uint8_t {
  claimed,
  in_progress,
  mismatch,
  other_rule,  ///< The record's fingerprint was made by another rule: hash by that one and ask
               ///< again.
  outcome_unknown,
  completed,
  busy,  ///< A repeat whose row is held by an open transaction: ask again.
};

/// What a write under a fence, or a settlement, is answered.
enum class write_verdict : std::uint8_t {
  done,
  busy,        ///< Not applied: an open transaction holds the row. Ask again.
  lease_lost,  ///< Not applied: the record moved on. It comes with the answer.
};

/// A wish to win a record. Repeating it under the same `claim_id` is harmless.
struct claim_request {
  identity id;
  callonce::fingerprint fingerprint;
  callonce::claim_id claim_id{};
  claim_terms terms;
  /// A lapsed claim of so many attempts is parked instead of taken over; 0: no bound. L-19.
  std::uint32_t attempts_max = 0;
};

/// Under what a write is allowed: exactly the claim that was won.
struct fence {
  identity id;
  callonce::claim_id claim_id{};
  std::uint32_t attempt = 0;
};

/// An operator's or a probe's decision about a record that is not completed.
struct settlement {
  identity id;
  std::uint32_t expected_attempt = 0;
  callonce::claim_id claim_id{};                ///< Fences whoever held the record before.
  std::shared_ptr<const stored_answer> answer;  ///< Completed with this; null: released.
  std::chrono::milliseconds released_retention{};
};

/// What a claim comes to: the answer and the write, applied together or not at all.
struct claim_step {
  claim_verdict verdict = claim_verdict::in_progress;
  claim_kind kind = claim_kind::first;  ///< Where `verdict` is claimed.
  std::optional<record> write;          ///< What the store must write, if anything.
};

/// What a write comes to.
struct write_step {
  write_verdict verdict = write_verdict::lease_lost;
  std::optional<record> write;
};

/// Whether an open transaction of an application holds the row.
enum class row_hold : bool { free, held };

/// A `claim_id` wins one attempt of a row; a claim that would write to a held row writes nothing.
claim_step on_claim(const record* found, const claim_request& wish, moment now,
                    row_hold hold = row_hold::free);

write_step on_renew(const record* found, const fence& by, moment now,
                    row_hold hold = row_hold::free);

write_step on_complete(const record* found, const fence& by,
                       std::shared_ptr<const stored_answer> answer, moment now,
                       row_hold hold = row_hold::free);

/// The row stays, for `retention` from now, so that the mismatch check outlives a failed first
/// attempt.
write_step on_release(const record* found, const fence& by, std::chrono::milliseconds retention,
                      moment now, row_hold hold = row_hold::free);

write_step on_park(const record* found, const fence& by, row_hold hold = row_hold::free);

write_step on_settle(const record* found, const settlement& decision, moment now,
                     row_hold hold = row_hold::free);

/// What becomes of a record under a purger.
enum class purge_verdict : std::uint8_t { keep, drop_body, park, remove };

/// Says what to purge of a record; with `park` its lapsed claim becomes parked, so that the list
/// of parked keys is complete.
purge_verdict on_purge(const record& found, moment now, row_hold hold = row_hold::free);

/// Whether the stored body may still be given out.
bool body_available(const record& completed, instant wall_now);

}  // namespace callonce
