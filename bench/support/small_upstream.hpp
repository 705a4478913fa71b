#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace bench {

/// An application that answers 201 to everything, some of it late, and counts what it did.
/// Threads: it runs on one of its own.
class small_upstream {
 public:
  /// Requests whose body contains `slow` are answered after `delay`.
  small_upstream(std::string slow, std::chrono::milliseconds delay);
  ~small_upstream();
  small_upstream(const small_upstream&) = delete;
  small_upstream& operator=(const small_upstream&) = delete;

  std::uint16_t port() const;
  /// How many requests contained `slow`.
  std::uint64_t slow_effects() const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace bench
