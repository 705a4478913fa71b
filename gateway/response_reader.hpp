#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callonce/core/message.hpp>

namespace callonce::gateway {

/// Reads one HTTP/1 answer after the other from the bytes of a connection, however they are cut.
/// Framing that could be read in two ways is broken. Trailers are dropped.
/// Source: RFC 9112 sections 6 and 7.
class response_reader {
 public:
  enum class stage { head, body, complete, broken };

  explicit response_reader(std::size_t header_bytes_max);
  ~response_reader();
  response_reader(const response_reader&) = delete;
  response_reader& operator=(const response_reader&) = delete;

  /// Starts over; an answer to HEAD has no body whatever its head says.
  void start(bool answers_head);

  /// Takes `bytes`.
  /// Post: returns how many are used up; the others are to be given again, with more behind them.
  std::size_t feed(std::string_view bytes);
  /// The other side closed its direction: ends a body without length, cuts any other.
  void end();
  /// The connection failed: cuts any answer that is not complete.
  void fail() noexcept;

  stage at() const noexcept { return at_; }
  /// Whether a 1xx is complete that another answer follows; a 101 is no such one.
  bool is_interim() const noexcept;
  /// Whether it is known what will come: the head of the final answer is read, or it is broken.
  bool is_decided() const noexcept;
  /// Whether the connection may carry another request after this answer.
  /// Pre: complete.
  bool keeps_alive() const noexcept;

  /// Status, header lines in the order they came, and the body's bytes so far.
  /// Pre: the head is known.
  response take();
  /// The lines that came behind the body so far. Post: they are taken.
  header_list trailers();
  /// The body's bytes since then; whoever takes them clears it.
  std::string& body() noexcept { return body_; }
  /// How much of the body is still to come, where that is known. Pre: the head is known.
  std::optional<std::uint64_t> body_left() const;

 private:
  struct parser;
  std::unique_ptr<parser> parser_;
  std::uint32_t header_bytes_max_;
  stage at_ = stage::head;
  std::string body_;
};

}  // namespace callonce::gateway
