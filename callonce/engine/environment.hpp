#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <callonce/core/record.hpp>

namespace callonce {

namespace asio = boost::asio;

/// An instant of this process's own steady clock.
using steady_time = std::chrono::steady_clock::time_point;

/// A pending call; destroying it withdraws the call.
/// Threads: destroyed where its executor runs.
class alarm {
 public:
  alarm() = default;
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;
  virtual ~alarm() = default;
};

/// The only door to time, sleep and randomness, so that the whole engine runs in a simulated world
/// too.
class environment {
 public:
  environment() = default;
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  virtual ~environment() = default;

  /// Threads: any.
  virtual steady_time now() const = 0;
  /// The host's wall clock, which anybody may set: for retention and logs, never for leases.
  /// Threads: any.
  virtual std::chrono::system_clock::time_point wall() const = 0;
  /// Unpredictable bytes: claim ids come from here.
  /// Threads: any.
  virtual void fill_random(std::span<std::byte> bytes) = 0;
  /// Calls `action` once on `executor` when `at` has come, unless the alarm is destroyed before;
  /// `steady_time::max()` never comes. Post: what `action` owns goes with the call, at the latest
  /// when the executor's context ends.
  virtual std::unique_ptr<alarm> call_at(const asio::any_io_executor& executor, steady_time at,
                                         std::function<void()> action) = 0;
};

/// The real clock, the kernel's random bytes.
environment& system_environment();

/// A fresh fence.
claim_id new_claim_id(environment& from);

}  // namespace callonce
