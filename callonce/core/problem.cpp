#include <array>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <callonce/core/digest.hpp>
#include <callonce/core/problem.hpp>

namespace callonce {
namespace {

struct description {
  problem_code code;
  std::string_view token;
  int status;
  bool retryable;
  std::string_view title;
};

constexpr std::array descriptions{
    description{problem_code::key_missing, "idempotency_key_missing", 400, false,
                "This operation needs an Idempotency-Key header"},
    description{problem_code::key_invalid, "idempotency_key_invalid", 400, false,
                "The Idempotency-Key header cannot be used"},
    description{problem_code::key_reused, "idempotency_key_reused", 422, false,
                "This Idempotency-Key belongs to a different request; use a new key"},
    description{problem_code::in_progress, "idempotency_key_in_progress", 409, true,
                "The first request with this Idempotency-Key is still running"},
    description{problem_code::key_expired, "idempotency_key_expired", 412, false,
                "This Idempotency-Key is too old, or dated in the future"},
    description{problem_code::response_unavailable, "idempotency_response_unavailable", 409, false,
                "The operation is completed, but its answer is not kept"},
    description{problem_code::outcome_unknown, "idempotency_outcome_unknown", 409, false,
                "It is not known whether the operation happened; it must be settled first"},
    description{problem_code::claim_lost, "idempotency_claim_lost", 409, true,
                "Another attempt took this request over and is still running"},
    description{problem_code::scope_missing, "idempotency_scope_missing", 401, false,
                "The caller cannot be told apart, so its key cannot be used"},
    description{problem_code::scope_unusable, "idempotency_scope_unusable", 503, false,
                "The server's scope rule cannot be used safely with this credential"},
    description{problem_code::body_too_large, "body_too_large", 413, false,
                "The request body is larger than this operation takes"},
    description{problem_code::early_data, "early_data", 425, true,
                "This operation is not accepted in TLS early data"},
    description{problem_code::store_unavailable, "idempotency_store_unavailable", 503, true,
                "The request could not be recorded, so it was not executed"},
    description{problem_code::upstream_unreachable, "upstream_unreachable", 502, true,
                "The application could not be reached; nothing was sent to it"},
    description{problem_code::upstream_timeout, "upstream_timeout", 504, true,
                "The application has not answered in time; it may still be working"},
    description{problem_code::upstream_broken, "upstream_broken", 502, true,
                "The application's answer was cut off; the operation may have happened"},
    description{problem_code::bad_request, "bad_request", 400, false,
                "The request is not well-formed HTTP"},
    description{problem_code::headers_too_large, "headers_too_large", 431, false,
                "The request header is too large"},
    description{problem_code::request_timeout, "request_timeout", 408, true,
                "The request did not arrive in time"},
    description{problem_code::overloaded, "overloaded", 503, true,
                "The server has no room for this request now"},
    description{problem_code::draining, "draining", 503, true,
                "The server is going down; another one will answer"},
    description{problem_code::internal_error, "internal_error", 500, true,
                "The operation failed before it was completed"},
};

const description& describe(problem_code code) {
  return descriptions[static_cast<std::size_t>(code)];
}

constexpr bool in_order() {
  for (std::size_t at = 0; at < descriptions.size(); ++at) {
    if (static_cast<std::size_t>(descriptions[at].code) != at) return false;
  }
  return true;
}
static_assert(in_order(), "descriptions are looked up by position");

// JSON is UTF-8, a stored field value is any bytes: what is not ASCII is percent-encoded, as a URI
// must have it anyway.
std::string ascii(std::string_view value) {
  std::string made;
  for (char c : value) {
    if (static_cast<unsigned char>(c) < 0x80) {
      made += c;
    } else {
      made += '%' + to_hex(bytes_of({&c, 1}));
    }
  }
  return made;
}

boost::json::object as_problem(const problem& what, int status, std::string_view type_base) {
  const description& about = describe(what.code);
  const std::string_view base = type_base.empty() ? "urn:callonce:problem:" : type_base;
  boost::json::object members;
  members["type"] = std::string{base} + std::string{about.token};
  members["title"] = about.title;
  members["status"] = status;
  members["code"] = about.token;
  members["retryable"] = about.retryable;
  if (!what.reason.empty()) members["reason"] = what.reason;
  if (!what.original_state.empty()) members["original_state"] = what.original_state;
  return members;
}

// Clients of this form tell errors apart by `type` before they look at `code`.
std::string_view stripe_type(problem_code code, int status) {
  switch (code) {
    case problem_code::key_reused:
    case problem_code::in_progress:
    case problem_code::claim_lost:
    case problem_code::outcome_unknown:
    case problem_code::response_unavailable:
      return "idempotency_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

boost::json::object as_stripe(const problem& what, int status) {
  const description& about = describe(what.code);
  boost::json::object error;
  error["type"] = stripe_type(what.code, status);
  error["code"] = about.token;
  error["message"] = about.title;
  boost::json::object members;
  members["error"] = std::move(error);
  return members;
}

std::string_view acp_code(problem_code code) {
  switch (code) {
    case problem_code::key_missing:
      return "idempotency_key_required";
    case problem_code::key_reused:
      return "idempotency_conflict";
    case problem_code::in_progress:
    case problem_code::claim_lost:
      return "idempotency_in_flight";
    default:
      return describe(code).token;
  }
}

std::string_view acp_type(int status) {
  if (status == 503) return "service_unavailable";
  return status >= 500 ? "processing_error" : "invalid_request";
}

boost::json::object as_acp(const problem& what, int status) {
  boost::json::object members;
  members["type"] = acp_type(status);
  members["code"] = acp_code(what.code);
  members["message"] = describe(what.code).title;
  return members;
}

boost::json::object members_of(const problem& what, int status, const problem_form& form) {
  switch (form.format) {
    case error_format::stripe:
      return as_stripe(what, status);
    case error_format::acp:
      return as_acp(what, status);
    case error_format::problem:
      break;
  }
  return as_problem(what, status, form.type_base);
}

// Where an error stands in its format: there the members are added that every format carries.
boost::json::object& innermost(boost::json::object& whole) {
  boost::json::value* const inner = whole.if_contains("error");
  return inner != nullptr ? inner->as_object() : whole;
}

}  // namespace

std::string_view to_string(problem_code code) noexcept {
  return describe(code).token;
}
int default_status(problem_code code) noexcept {
  return describe(code).status;
}
bool is_retryable(problem_code code) noexcept {
  return describe(code).retryable;
}

response to_response(const problem& what, const problem_form& form) {
  const description& about = describe(what.code);
  const int status = what.status != 0 ? what.status : about.status;
  boost::json::object members = members_of(what, status, form);
  boost::json::object& error = innermost(members);
  if (!what.record_id.empty()) error["record"] = what.record_id;
  if (what.original_status != 0) error["original_status"] = what.original_status;
  if (!what.location.empty()) error["location"] = ascii(what.location);
  if (!what.resource.empty()) error["resource"] = ascii(what.resource);

  const bool is_problem = form.format == error_format::problem;
  response made{status, is_problem ? "application/problem+json" : "application/json",
                boost::json::serialize(members)};
  made.header("Cache-Control", "no-store").header("Content-Language", "en");
  if (about.retryable) {
    const std::chrono::seconds wait = what.retry_after.value_or(std::chrono::seconds{1});
    made.header("Retry-After", std::to_string(wait.count()));
  }
  if (status == 401) made.header("WWW-Authenticate", "Bearer");
  made.made_for(what.code);
  return made;
}

}  // namespace callonce
