#pragma once

#include <functional>
#include <memory>

#include <callonce/core/policy.hpp>
#include <callonce/engine/answer.hpp>
#include <callonce/engine/engine.hpp>

namespace callonce::blocking {

/// The user's code, on the thread that called the route.
using handler = std::function<outcome(claim&, const request&)>;

/// A route for servers that give each request a thread.
/// Threads: any number may call at once; the engine's own work runs on one thread that all blocking
/// routes of an engine share, so such an engine must not serve asynchronous routes as well.
class route {
 public:
  /// Pre: `over` outlives the route.
  /// Errors: throws std::invalid_argument when the policy is not usable.
  route(engine& over, callonce::policy by, handler does);
  ~route();
  route(const route&) = delete;
  route& operator=(const route&) = delete;

  /// Answers one request; the handler, if it must run, runs on this thread.
  /// Post: what a handler left in a `body_source` has been read into the response. `timeout` does
  /// not cut a running handler short: this thread is busy with it.
  response operator()(request asked);

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace callonce::blocking
