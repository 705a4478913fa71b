#pragma once

#include <optional>

#include <callonce/core/policy.hpp>
#include <callonce/core/transition.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce {

// One-transaction mode: claim, effect and completion in one transaction of the caller's own, for an
// effect that is short and local to the store's database. The store says how its claim is written
// there. Where that fails, ask the route: it knows what the key has met. Source: semantics I7.

/// The claim that a route of `by` makes for this whole request. Nothing: the route answers it
/// without a claim.
std::optional<claim_request> claim_for(const policy& by, const request& asked,
                                       environment& in = system_environment());

/// What the record of a route of `by` keeps of this answer.
stored_answer frozen(const policy& by, const response& answer);

}  // namespace callonce
