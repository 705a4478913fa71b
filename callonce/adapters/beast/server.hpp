#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <callonce/core/problem.hpp>
#include <callonce/engine/answer.hpp>
#include <callonce/engine/byte_stream.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce {
class route;
}

namespace callonce::beast {

/// What one connection may take and how long it may take it.
/// Durations are kept to within a quarter of a second.
struct server_limits {
  std::size_t header_bytes_max = std::size_t{32} << 10;
  std::chrono::milliseconds header_timeout{std::chrono::seconds{10}};  ///< From the first byte.
  /// Between two reads of a body, and between two writes of an answer.
  std::chrono::milliseconds body_timeout{std::chrono::seconds{30}};
  std::chrono::milliseconds idle_timeout{std::chrono::seconds{75}};  ///< Between two requests.
  /// Larger bodies lie in an unlinked temporary file, mapped when complete.
  std::uint64_t memory_body_max = std::uint64_t{1} << 20;
  /// Whole bodies in memory, all connections together; beyond it a request is answered 503.
  std::uint64_t buffered_bytes_max = std::uint64_t{256} << 20;
  std::string spool_directory = "/var/tmp";
};

/// The client hung up before its request was whole: there is nobody to answer.
struct disconnected {};

/// One request on a connection: its head is read and well framed, its body not yet.
/// Pre: used by one coroutine, on the connection's executor, until the service returns.
/// Cancellation: asio's own ends a pending read or write; the connection closes then.
class exchange {
 public:
  exchange() = default;
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  virtual ~exchange() = default;

  /// Method, target and header lines as they came, in order; trailers never join them.
  /// It may be moved from: the connection itself needs it no more.
  virtual request& head() = 0;
  /// The peer's address without port, or "unix".
  virtual const std::string& peer() const = 0;
  virtual bool has_body() const = 0;
  /// Requested soon after the peer closed its side while its request is being worked on.
  virtual std::stop_token client_left() = 0;

  /// The whole body, answered `Expect: 100-continue` first where it was asked for.
  /// Errors: a problem to send (413, 408, 400, 503), after which the connection closes.
  [[nodiscard]] virtual asio::awaitable<std::variant<body_bytes, problem, disconnected>> read_body(
      std::uint64_t bytes_max) = 0;
  /// The body piece by piece, for requests that pass through; valid until the service returns.
  virtual std::unique_ptr<body_source> stream_body() = 0;

  /// Sends an interim answer (1xx) to an HTTP/1.1 client; others get none.
  [[nodiscard]] virtual asio::awaitable<result<void>> send_interim(const response& interim) = 0;
  /// Sends the final answer; its rest, if any, by its Content-Length or else chunked (to HTTP/1.0
  /// until the end of the connection). HEAD gets no body. Fields of the connection are ours alone,
  /// but for a 101, which keeps its Upgrade.
  /// Errors: in_doubt when the client is gone or the source was cut off; the connection closes
  /// then, so that the client sees the break.
  [[nodiscard]] virtual asio::awaitable<result<void>> send(callonce::answer final) = 0;
  /// The raw connection, after a 101 was sent; it may outlive the exchange.
  virtual std::unique_ptr<byte_stream> take_stream() = 0;
};

/// Answers one exchange; called once for each request of a connection, strictly one after the
/// other. What it throws, or leaves unanswered, is answered 500.
using service = std::function<asio::awaitable<void>(exchange&)>;

/// The connections of one listener: reads requests, hands them to a service, sends the answers.
/// Framing that could be read in two ways is answered 400 and closes the connection.
/// Threads: all calls and sockets on one executor that runs one handler at a time.
/// Source: RFC 9112 sections 6 and 9; G-04, G-05, P-19, C68.
class server {
 public:
  /// Pre: `in`, and what the service refers to, outlive the connections.
  explicit server(service answers, server_limits limits = {},
                  environment& in = system_environment());
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Serves one connection until either side closes it.
  [[nodiscard]] asio::awaitable<void> serve(asio::generic::stream_protocol::socket connection);

  /// Open connections, tunnels included.
  std::size_t connections() const noexcept;
  /// Closes idle connections, and the others after their current answer.
  void drain();
  /// Waits until no connection is left; false when `deadline` came first. Pre: `drain` was called.
  [[nodiscard]] asio::awaitable<bool> drained(steady_time deadline);
  /// Cuts every connection.
  void close();

  class state;  ///< What connections share; private to the server's own sources.

 private:
  std::shared_ptr<state> state_;
};

/// The service that answers every request through one route. Pre: `to` outlives the connections.
service through(route& to);

/// Serves one connection through one route, with the limits' defaults; for many connections, with
/// limits and drain, use a `server`.
asio::awaitable<void> serve(asio::generic::stream_protocol::socket connection, route& to);

}  // namespace callonce::beast
