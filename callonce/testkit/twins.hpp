#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <callonce/engine/store.hpp>

namespace callonce::testkit {

/// The names of all stores that are broken on purpose.
std::vector<std::string_view> broken_store_names();

/// `inner` with one fault, to prove that the checks can fail; null for an unknown name.
///
///  - fence_off               completes under any claim
///  - lease_check_off         takes live leases over
///  - mismatch_order          reports the state before it compares the fingerprint
///  - answers_swapped         gives one key the stored answer of another
///  - claim_not_repeatable    refuses the repeat of a claim to its own owner
///
/// Pre: `inner` outlives it and ends every operation without suspending.
std::unique_ptr<store> make_broken_store(std::string_view name, store& inner);

}  // namespace callonce::testkit
