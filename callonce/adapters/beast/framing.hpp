#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <callonce/core/message.hpp>

namespace callonce::beast::detail {

/// Where the head of a request ends, found line by line as its bytes arrive.
/// Refuses what a parser elsewhere might read differently: a line feed without carriage return and
/// folded lines. Source: RFC 9112 sections 2.2 and 5.2, G-04.
class head_scan {
 public:
  enum class state { more, whole, malformed };

  /// Goes on with all bytes since the request's first one.
  state look(std::string_view bytes);
  /// The head's length. Pre: `look` said whole.
  std::size_t size() const noexcept { return line_; }
  /// A word for programs. Pre: `look` said malformed.
  std::string_view reason() const noexcept { return reason_; }

 private:
  state refuse(std::string_view why);

  std::size_t line_ = 0;  // where the line that is not yet whole begins
  std::size_t seen_ = 0;  // no line feed before here but at line ends
  std::string_view reason_;
};

/// How a request's body is delimited, and what else its head says about the connection.
struct framing {
  bool keep_alive = false;
  bool expects_continue = false;
  bool takes_trailers = false;
  bool chunked = false;
  std::uint64_t content_length = 0;
  std::string_view refusal;  ///< A word for programs when the head must be refused, else empty.

  bool has_body() const noexcept { return chunked || content_length != 0; }
};

/// Judges the head of a request by rules that leave one reading only.
/// Source: RFC 9112 sections 3.2, 6.1 to 6.3 and 9.3; RFC 9110 section 10.1.1; C68, G-03, G-04,
/// G-10.
framing judge_framing(bool http_1_1, const header_list& headers);

/// Reads plain digits. Errors: false when it is anything else or does not fit.
bool parse_length(std::string_view digits, std::uint64_t& into) noexcept;

}  // namespace callonce::beast::detail
