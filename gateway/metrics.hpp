#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/problem.hpp>
#include <callonce/engine/observer.hpp>

namespace callonce::gateway {

/// How one request was answered: what operators count.
struct request_outcome {
  enum class kind : std::uint8_t {
    unprotected,  ///< The route or method needs no key.
    no_key,       ///< The route takes a key and none was sent.
    executed,     ///< The application answered this request itself.
    replayed,
    gone,     ///< The client left before its request was whole.
    problem,  ///< Answered with a problem.
  };
  kind what = kind::unprotected;
  problem_code code = problem_code::internal_error;  ///< Where `what` is problem.

  std::string_view name() const;
};

/// The outcome that an answer of a protected route shows.
request_outcome outcome_of(const response& answer);

/// Numbers that are read when somebody asks.
struct live_numbers {
  std::size_t runs = 0;
  std::size_t waiters = 0;
  std::size_t detached = 0;
  std::size_t connections = 0;
};

/// Counts facts and requests for Prometheus. All series exist from the start and their labels come
/// from the configuration alone, so that no client can make one. Source: C113, C114.
/// Threads: any.
class metrics final : public observer {
 public:
  /// `routes` are the names of all routes.
  metrics(const std::vector<std::string>& routes, std::string_view version,
          std::function<live_numbers()> live);
  ~metrics() override;

  void on(const fact& what) override;
  void count_request(std::string_view route, request_outcome how,
                     std::chrono::steady_clock::duration took);

  /// Pre: `operation` is one of `observed_store::operations`.
  void count_store(std::string_view operation, std::chrono::steady_clock::duration took);

  /// One commit of the store made so many operations durable.
  void count_batch(std::size_t operations);
  /// Adds the routes of a new configuration; those of the old one stay.
  void add_routes(const std::vector<std::string>& names);

  /// The text exposition format, version 0.0.4.
  std::string text();

 private:
  struct series;
  std::unique_ptr<series> series_;
};

}  // namespace callonce::gateway
