#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <variant>

#include <callonce/engine/store.hpp>

namespace callonce::group_commit {

/// `store::claim`, and so on, with their arguments in hand: an operation may outlive its caller.
struct claim_call {
  claim_request wish;
};
/// `store::renew`
struct renew_call {
  fence by;
};
/// `store::complete`
struct complete_call {
  fence by;
  std::shared_ptr<const stored_answer> answer;
};
/// `store::release`
struct release_call {
  fence by;
  std::chrono::milliseconds retention{};
};
/// `store::park`
struct park_call {
  fence by;
};
/// `store::settle`
struct settle_call {
  settlement decision;
  settle_reason reason;
};

/// What a store is asked. Repeating any of them is harmless.
using call =
    std::variant<claim_call, renew_call, complete_call, release_call, park_call, settle_call>;

bool is_claim(const call& what) noexcept;
const identity& identity_of(const call& what) noexcept;
/// About how much memory and how many bytes on the wire it takes.
std::size_t bytes_of(const call& what) noexcept;

/// What a store says: to a claim the first, to everything else the second.
using reply = std::variant<claim_reply, write_reply>;
using outcome = result<reply>;

/// Whoever waits for an operation. The planner carries it and never looks inside.
struct caller {
  caller() = default;
  caller(const caller&) = delete;
  caller& operator=(const caller&) = delete;
  virtual ~caller() = default;
};

/// A call on its way through a lane.
struct operation {
  call what;
  std::unique_ptr<caller> who;  ///< Null: nobody waits any more.
  steady_time patience_ends = steady_time::max();
  std::size_t bytes = 0;
  /// A transaction that held it was sent and not answered: it may be applied already, or later. A
  /// repeated claim whose row is held answers busy, never in_progress.
  bool repeated = false;
};

}  // namespace callonce::group_commit
