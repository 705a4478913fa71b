#pragma once

#include <chrono>
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

namespace callonce::beast {

/// What one connection may take and how long it may take it.
struct server_limits {
  std::size_t header_bytes_max = std::size_t{32} << 10;
  std::chrono::milliseconds header_timeout{std::chrono::seconds{10}};  ///< From the first byte.
  std::chrono::milliseconds body_timeout{std::chrono::seconds{30}};    ///< Between two reads.
  std::chrono::milliseconds idle_timeout{std::chrono::seconds{75}};    ///< Between two requests.
  /// Larger bodies lie in an unlinked temporary file, mapped when complete.
  std::uint64_t memory_body_max = std::uint64_t{1} << 20;
  std::string spool_directory = "/var/tmp";
};

/// Protected bodies in memory, all connections together; beyond it a request is answered 503.
class body_budget {
 public:
  explicit body_budget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  bool take(std::uint64_t bytes) noexcept {
    if (bytes > bytes_max_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }

 private:
  std::uint64_t bytes_max_;
  std::uint64_t used_ = 0;
};

/// The client hung up before its request was whole: there is nobody to answer.
struct disconnected {};

/// One request on a connection: its head is read and well framed, its body not yet.
/// Pre: used by one coroutine, on the connection's executor, and not after `send` but for
/// `take_stream`.
class exchange {
 public:
  exchange() = default;
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  virtual ~exchange() = default;

  /// Method, target and header lines as they came; trailers never join them.
  virtual const request& head() const = 0;
  /// The peer's address without port, or "unix".
  virtual const std::string& peer() const = 0;
  virtual bool has_body() const = 0;
  /// Requested when the peer closes while its request is being worked on.
  virtual std::stop_token client_left() = 0;

  /// The whole body, answered `Expect: 100-continue` first where it was asked for.
  /// Errors: a problem to send (413, 408, 400, 503), after which the connection closes.
  [[nodiscard]] virtual asio::awaitable<std::variant<body_bytes, problem, disconnected>> read_body(
      std::uint64_t bytes_max) = 0;
  /// The body piece by piece, for requests that pass through.
  virtual std::unique_ptr<body_source> stream_body() = 0;

  /// Sends an interim answer (1xx) to an HTTP/1.1 client; others get none.
  [[nodiscard]] virtual asio::awaitable<result<void>> send_interim(const response& interim) = 0;
  /// Sends the final answer; its rest, if any, chunked or by its Content-Length. HEAD gets no body.
  /// Errors: in_doubt when the client is gone or the source was cut off; the connection closes
  /// then.
  [[nodiscard]] virtual asio::awaitable<result<void>> send(answer final) = 0;
  /// The raw connection, after a 101 was sent.
  virtual std::unique_ptr<byte_stream> take_stream() = 0;
};

/// Answers one exchange; called once for each request of a connection, strictly one after the
/// other.
using service = std::function<asio::awaitable<void>(exchange&)>;

/// Serves one connection until either side closes it or `drain` is requested between two requests.
/// Framing that could be read in two ways is answered 400 and closes the connection.
/// Source: RFC 9112 sections 6 and 9; G-04, G-05, P-19, C68.
asio::awaitable<void> serve(asio::generic::stream_protocol::socket connection, service answers,
                            const server_limits& limits, body_budget& budget, environment& in,
                            std::stop_token drain);

}  // namespace callonce::beast
