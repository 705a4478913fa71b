#pragma once

#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <callonce/engine/environment.hpp>
#include <callonce/engine/event.hpp>
#include <callonce/engine/observer.hpp>
#include <callonce/engine/store.hpp>

namespace callonce {

/// Removes what is past its retention, in small batches, for as long as the process lives.
/// Threads: `run` on one executor.
class purger {
 public:
  /// Pre: store, environment and observer outlive the purger.
  explicit purger(store& over, environment& in = system_environment(), observer* tell = nullptr)
      : store_(over), env_(in), observer_(tell) {}

  /// Purges until `stop` is requested. A wall clock that jumps stops it for good: retention is
  /// counted by that clock, and keys must not go because a host was set to next year (K26).
  asio::awaitable<void> run(std::stop_token stop);

 private:
  asio::awaitable<bool> purge_once();
  bool wall_jumped();
  void tell(fact_kind kind, std::uint64_t count = 0) const;

  store& store_;
  environment& env_;
  observer* observer_;
  steady_time last_steady_{};
  std::chrono::system_clock::time_point last_wall_{};
};

}  // namespace callonce
