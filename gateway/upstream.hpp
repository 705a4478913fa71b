#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <variant>

#include <boost/asio/awaitable.hpp>

#include <callonce/engine/answer.hpp>
#include <callonce/engine/byte_stream.hpp>

namespace callonce::gateway {

/// Why an exchange with the application gave no whole answer.
enum class upstream_fault {
  unreachable,  ///< No byte of the request was sent: nothing can have happened.
  broken,       ///< Sent, and then cut off or garbled: anything may have happened.
};

/// What the application answered.
struct upstream_answer {
  upstream_answer() = default;
  explicit upstream_answer(answer said) : content(std::move(said)) {}

  answer content;
  std::unique_ptr<byte_stream> tunnel;  ///< The raw connection, where the answer is a 101.
};

/// PORT to the application. At most one send for each call: a connection is tried in turn only
/// while no byte of the request was written. Source: RFC 9110 section 9.2.2, D-68, I12, C90.
class upstream {
 public:
  upstream() = default;
  upstream(const upstream&) = delete;
  upstream& operator=(const upstream&) = delete;
  virtual ~upstream() = default;

  using interim = std::function<asio::awaitable<void>(const response&)>;

  /// Sends `asked` with its own body, or with the one that `streamed` gives.
  /// `on_interim` sees each 1xx but 100 and 101. An empty function drops them.
  /// `cancel` closes the connection: the exchange ends as broken.
  [[nodiscard]] virtual asio::awaitable<std::variant<upstream_answer, upstream_fault>> send(
      const request& asked, body_source* streamed, const interim& on_interim,
      std::stop_token cancel) = 0;
};

}  // namespace callonce::gateway
