#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/awaitable.hpp>

#include <callonce/core/error.hpp>
#include <callonce/core/message.hpp>
#include <callonce/engine/claim.hpp>

namespace callonce {

namespace asio = boost::asio;

/// The rest of a body that is still coming.
class body_source {
 public:
  body_source() = default;
  body_source(const body_source&) = delete;
  body_source& operator=(const body_source&) = delete;
  virtual ~body_source() = default;

  /// The next bytes, valid until the next call; an empty span is the end.
  /// Errors: in_doubt when the body was cut off.
  [[nodiscard]] virtual asio::awaitable<result<std::span<const std::byte>>> next() = 0;
  /// The lines behind the body. Pre: its end was reached.
  virtual header_list trailers() { return {}; }
};

/// A response whose held bytes may go on in a source.
struct answer {
  answer() = default;
  answer(response whole) : head(std::move(whole)) {}  // implicit: a response is an answer
  answer(response begun, std::unique_ptr<body_source> more)
      : head(std::move(begun)), rest(std::move(more)) {}

  response head;
  std::unique_ptr<body_source> rest;  ///< Null: `head` holds the whole body.
};

/// The handler's own transaction has completed the record with this response.
struct committed {
  committed() = default;
  explicit committed(response sent) : answer(std::move(sent)) {}
  response answer;
};

/// Nothing was executed: the claim is released.
struct not_executed {
  not_executed();
  explicit not_executed(response said) : answer(std::move(said)) {}
  response answer;
};

/// It is not known whether the effect happened: the claim is kept until its lease lapses.
struct indeterminate {
  indeterminate();
  explicit indeterminate(response said) : answer(std::move(said)) {}
  response answer;
};

/// How a handler ends.
using outcome = std::variant<answer, committed, not_executed, indeterminate>;

/// The user's code. What it throws becomes a 500, and the claim is released.
using handler = std::function<asio::awaitable<outcome>(claim&, const request&)>;

}  // namespace callonce
