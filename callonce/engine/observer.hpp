#pragma once

#include <cstdint>
#include <string_view>

#include <callonce/core/problem.hpp>
#include <callonce/core/transition.hpp>

namespace callonce {

/// What happened, in the order in which it happens to one request.
enum class fact_kind : std::uint8_t {
  passed_through,    ///< No key was wanted or sent.
  unprotected,       ///< The store took no claim, and the route runs all the same (fail_open).
  refused,           ///< Answered with a problem (`code`) before or instead of a run.
  claimed,           ///< A claim is durably won (`claim`).
  replayed,          ///< Answered from a completed record.
  dispatched,        ///< The handler is about to be called.
  answered,          ///< The handler has ended (`status`).
  handler_failed,    ///< The handler threw.
  completed,         ///< The completion is durable.
  co_committed,      ///< The application's own transaction completed the record.
  answer_differs,    ///< What the application sent is not what its transaction stored.
  not_co_committed,  ///< Class atomic, and yet the application left the completion to the engine.
  released,
  kept,  ///< The outcome is not certain; the claim stays until its lease lapses.
  parked,
  sent,       ///< The answer's last byte was handed to the connection.
  detached,   ///< The client left or was answered 504; the run goes on.
  abandoned,  ///< `detached_max` is over; the run is no longer kept.
  renewed,
  trust_over,    ///< Renewals failed for so long that others may take over.
  lease_lost,    ///< Another claim has won meanwhile.
  in_doubt,      ///< A write's acknowledgement was lost.
  store_failed,  ///< A store operation was surely not applied.
  unrecorded,    ///< A true answer is sent although its completion is not durable.
  corrupt,       ///< A record could not be trusted.
  purged,        ///< `count` records or bodies went.
  wall_jumped,   ///< The wall clock jumped; purging has stopped.
};

std::string_view to_string(fact_kind kind) noexcept;

/// One fact; views are valid during the call only.
struct fact {
  fact_kind kind;
  std::string_view route;
  const identity* id = nullptr;
  std::uint32_t attempt = 0;
  int status = 0;
  problem_code code = problem_code::internal_error;
  claim_kind claim = claim_kind::first;
  std::uint64_t count = 0;
};

/// Told every fact synchronously, where it happens: for logs, metrics and traces.
/// Post: returns soon and does not throw.
class observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer() = default;
  virtual void on(const fact& what) = 0;
};

}  // namespace callonce
