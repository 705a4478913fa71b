#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <callonce/core/message.hpp>

namespace callonce {

/// Every answer that callonce itself makes, by its stable code.
enum class problem_code : std::uint8_t {
  key_missing,
  key_invalid,
  key_reused,
  in_progress,
  key_expired,
  response_unavailable,
  outcome_unknown,
  claim_lost,
  scope_missing,
  scope_unusable,
  body_too_large,
  early_data,
  store_unavailable,
  upstream_unreachable,
  upstream_timeout,
  upstream_broken,
  bad_request,
  headers_too_large,
  request_timeout,
  overloaded,
  draining,
  internal_error,
};

/// One problem with the members that apply to it (RFC 9457).
struct problem {
  problem(problem_code what) : code(what) {}  // implicit: most problems are their code alone
  problem_code code;
  int status = 0;      ///< 0: the code's own status.
  std::string reason;  ///< A word for programs, e.g. `too_long`.
  std::string record_id;
  std::string original_state;  ///< `in_progress` or `completed`, for a mismatch.
  int original_status = 0;
  std::string location;
  std::string resource;
  std::optional<std::chrono::seconds> retry_after;
};

/// The token in `code` and behind the type prefix, e.g. `idempotency_key_reused`.
std::string_view to_string(problem_code code) noexcept;
int default_status(problem_code code) noexcept;
/// Whether the same request may be sent again unchanged.
bool is_retryable(problem_code code) noexcept;

/// How problems are written.
enum class error_format : std::uint8_t {
  problem,  ///< `application/problem+json`, RFC 9457.
  stripe,   ///< `{"error": {"type", "code", "message"}}`.
  acp,      ///< `{"type", "code", "message"}`, with the codes of the Agentic Commerce Protocol.
};

/// The form of a route's problems.
struct problem_form {
  problem_form() = default;
  explicit problem_form(error_format in, std::string base = {})
      : format(in), type_base(std::move(base)) {}

  error_format format = error_format::problem;
  std::string type_base;  ///< Replaces `urn:callonce:problem:` when it is not empty.
};

/// The answer for a problem, never cached; `made_for()` of it is the code.
/// Source: RFC 9457 section 3, RFC 9110 section 10.2.3; PS and PA rows for the other formats.
response to_response(const problem& what, const problem_form& form = {});

}  // namespace callonce
