#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <gateway/address.hpp>

#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// Listening sockets, and the connections that come in through them.
/// Threads: all calls on the executor, which runs one handler at a time.
class listener {
 public:
  /// Opens the sockets; nothing is accepted yet. A UNIX socket that nobody listens on any more is
  /// replaced. `setting` is the key of the configuration that names them.
  /// Pre: `in`, and what the service refers to, outlive the connections.
  /// Errors: throws std::runtime_error with one line that says what to change.
  listener(asio::any_io_executor executor, std::string_view setting,
           const std::vector<endpoint>& at, beast::service answers,
           const beast::server_limits& limits, std::size_t connections_max, environment& in);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// Where it listens, with the ports that the system chose.
  std::vector<endpoint> where() const;
  /// Begins to accept; at `connections_max` open connections others wait in the system's queue.
  void start();
  std::size_t connections() const noexcept;

  /// Accepts no more, closes idle connections, and the others after their current answer.
  void drain();
  /// Waits until no connection is left; false when `deadline` came first. Pre: `drain` was called.
  [[nodiscard]] asio::awaitable<bool> drained(steady_time deadline);
  /// Accepts no more and cuts every connection.
  void close();

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace callonce::gateway
