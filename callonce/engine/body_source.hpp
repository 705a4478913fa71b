#pragma once

#include <cstdint>
#include <memory>

#include <callonce/engine/answer.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::detail {

/// How far the rest of an answer was read into its held bytes.
enum class collected {
  whole,   ///< The body has ended within the limit; nothing is left to come.
  beyond,  ///< There are more bytes than the limit; what was read is held, the rest still comes.
  broken,  ///< The body was cut off.
};

/// Reads the rest of `given` into its held bytes until it ends or `bytes_max` is passed.
asio::awaitable<collected> collect(answer& given, std::uint64_t bytes_max);

/// Reads `source` to its end and drops the bytes.
asio::awaitable<void> exhaust(body_source& source);

/// A source shared between the connection that sends it and the run that must know when it has
/// ended.
class watched_source {
 public:
  explicit watched_source(std::unique_ptr<body_source> inner) : inner_(std::move(inner)) {}

  bool at_end() const noexcept { return at_end_; }
  body_source& inner() noexcept { return *inner_; }

  detail::event let_go;  ///< The end was reached, or the sender gave up.

  /// The sender's side. Pre: `shared` outlives nothing: it is kept by the side.
  static std::unique_ptr<body_source> side_of(std::shared_ptr<watched_source> shared);

 private:
  class side;
  std::unique_ptr<body_source> inner_;
  bool at_end_ = false;
};

}  // namespace callonce::detail
