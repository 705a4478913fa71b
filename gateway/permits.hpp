#pragma once

#include <cstddef>
#include <list>
#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// At most so many at once; the others wait in the order in which they came.
/// Threads: one executor.
class permits {
 public:
  explicit permits(std::size_t most) : free_(most) {}
  permits(const permits&) = delete;
  permits& operator=(const permits&) = delete;

  /// Takes a permit if one is free.
  bool try_take() noexcept;
  /// Waits for a permit.
  /// Post: false when `deadline` came or `leave` was requested first; nothing is taken then.
  [[nodiscard]] asio::awaitable<bool> take(environment& in, steady_time deadline,
                                           std::stop_token leave);
  /// Hands a permit that was taken to whoever has waited longest.
  void give_back();

  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  struct waiter;
  std::size_t free_;
  std::list<waiter*> waiting_;
};

}  // namespace callonce::gateway
