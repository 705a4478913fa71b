#pragma once

#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <gateway/metrics.hpp>

#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/environment.hpp>
#include <callonce/engine/store.hpp>

namespace callonce::gateway {

/// Whether a claim could be made durable: tries it with one of its own, gives it back, and
/// remembers the answer for a second.
/// Threads: one executor.
class readiness {
 public:
  /// Pre: store and environment outlive it.
  readiness(store& over, environment& in);
  [[nodiscard]] asio::awaitable<bool> check();

 private:
  asio::awaitable<bool> probe();

  store& store_;
  environment& env_;
  claim_request wish_;
  bool last_ = false;
  steady_time good_until_{};
};

/// What the admin listener answers: GET /healthz, /readyz and /metrics; nothing can be changed.
class admin {
 public:
  /// Pre: all outlive it.
  admin(store& over, metrics& counts, environment& in, std::string version);

  asio::awaitable<void> answer(beast::exchange& client);
  /// From now on the process is not ready, so that no balancer sends it new clients.
  void drain() { draining_ = true; }

 private:
  asio::awaitable<response> respond(std::string method, std::string path);
  response health() const;
  asio::awaitable<response> ready();

  store& store_;
  metrics& counts_;
  readiness readiness_;
  const std::string version_;
  bool draining_ = false;
};

}  // namespace callonce::gateway
