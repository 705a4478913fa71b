#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <gateway/address.hpp>
#include <gateway/upstream.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// What connections to the application may take.
struct upstream_limits {
  /// Name look-up and all addresses together; also the longest wait for a free connection.
  std::chrono::milliseconds connect_timeout{std::chrono::seconds{2}};
  std::size_t connections = 256;
  /// Below the idle limit of common servers, so that we are seldom the one who writes into a close.
  std::chrono::milliseconds idle_max{std::chrono::seconds{3}};
  std::size_t header_bytes_max = std::size_t{32} << 10;
};

/// The application over HTTP/1.1 connections that are kept and used again.
/// A kept connection is looked at first: it carries a request only if it was idle for less than
/// `idle_max` and neither an end of stream nor a stray byte waits on it. From the first written
/// byte on every failure is `broken`; before it, also on cancel, `unreachable`.
/// Threads: all calls, and requests of their `cancel`, on one executor that runs one handler at a
/// time; one pool for each thread.
/// Source: RFC 9110 section 9.2.2; C90, X-06, X-07, X-17, D-68.
class upstream_pool final : public upstream {
 public:
  /// Pre: `in` outlives the pool and what it gave; answers and tunnels may outlive the pool.
  upstream_pool(asio::any_io_executor executor, endpoint application, upstream_limits limits = {},
                environment& in = system_environment());
  ~upstream_pool() override;

  [[nodiscard]] asio::awaitable<std::variant<upstream_answer, upstream_fault>> send(
      const request& asked, body_source* streamed, const interim& on_interim,
      std::stop_token cancel) override;

  /// Connections that lie in the pool.
  std::size_t idle() const noexcept;
  /// Requests that wait for a free connection.
  std::size_t waiting() const noexcept;

  class state;  ///< What answers under way share with the pool; private to its own source.

 private:
  std::shared_ptr<state> state_;
};

}  // namespace callonce::gateway
