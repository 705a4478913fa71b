#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::detail {

struct waiter;

/// Something that happens once and that coroutines wait for, each with its own deadline.
/// Threads: one executor for all calls; `leave` of a wait may be requested from any.
class event {
 public:
  enum class end { fired, deadline, left };

  event();
  ~event();
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  bool has_fired() const noexcept { return fired_; }
  /// Wakes everybody, now and later.
  void fire();

  /// Waits until it has fired, `deadline` has come, or `leave` was requested, whichever is first.
  asio::awaitable<end> wait(environment& in, steady_time deadline, std::stop_token leave = {});

 private:
  bool fired_ = false;
  std::vector<std::weak_ptr<waiter>> waiters_;
};

/// Sleeps on the calling coroutine's executor.
asio::awaitable<void> sleep_until(environment& in, steady_time at);

}  // namespace callonce::detail
