#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <gateway/upstream_connection.hpp>

#include <callonce/engine/answer.hpp>

namespace callonce::gateway {

/// The body of a request on its way out: its own bytes at once, or a source's piece by piece;
/// by its length where that is known, else in chunks. Source: RFC 9112 section 6.
class outgoing_body {
 public:
  /// Pre: both outlive it. `streamed` may be null.
  outgoing_body(const request& asked, body_source* streamed);

  /// The header line that says where the body ends, or nothing.
  std::string framing() const;
  /// Whether all pieces have been fetched.
  bool is_whole() const noexcept { return whole_; }

  /// Fetches the next piece. Pre: not whole.
  /// Post: false when the source was cut off, or gave more or less than was announced.
  [[nodiscard]] asio::awaitable<bool> fetch();
  /// Adds the current piece as it goes over the wire. Pre: called once for each piece.
  void add_to(gathered_bytes& bytes);

 private:
  enum class form { none, length, chunks };

  body_source* source_;
  form form_ = form::none;
  bool whole_ = false;
  std::uint64_t length_ = 0;
  std::uint64_t left_ = 0;
  std::span<const std::byte> piece_;
  std::array<char, 20> chunk_head_{};  // 16 hex digits and a line end
};

}  // namespace callonce::gateway
