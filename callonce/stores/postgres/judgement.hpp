#pragma once

// Internal: the rules of core/transition as both forms of the statements ask them.

#include <callonce/stores/group_commit/operation.hpp>

namespace callonce::postgres::detail {

/// What a claim comes to. A repeated one whose row is held is busy: the transaction that holds it
/// may be the very one that is repeated. Pre: `one` is a claim.
claim_step judge_claim(const group_commit::operation& one, const record* found, moment now,
                       row_hold hold);
/// The answer to a claim that was refused. A completed record past its retention is absent for it:
/// whoever holds the row is about to write over it. Pre: `one` is a claim.
claim_reply refusal(const group_commit::operation& one, claim_verdict verdict, record found,
                    moment now);
/// What anything else comes to. Pre: `what` is no claim.
write_step judge_write(const group_commit::call& what, const record* found, moment now,
                       row_hold hold);

/// The answer to a claim whose row cannot be seen, since somebody has not committed it, or keeps
/// making and removing it. Pre: `one` is a claim.
claim_reply unseen(const group_commit::operation& one, moment now);

}  // namespace callonce::postgres::detail
