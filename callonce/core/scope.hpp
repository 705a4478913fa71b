#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <callonce/core/digest.hpp>
#include <callonce/core/message.hpp>

namespace callonce {

/// Whose key it is: the SHA-256 of a scope rule and the value found by it. The value itself is not
/// kept.
using scope_hash = digest;

/// Why no scope can be derived from a request.
enum class scope_fault {
  missing_credential,  ///< Answered 401: authenticate first.
  missing_header,      ///< Answered 400: the rule names a header that was not sent.
  repeated,            ///< Answered 400: the field was sent more than once.
  untrusted_hop,       ///< Answered 401: the peer may not set this identity.
  unusable,  ///< Answered 503: a JWT under `header:Authorization` changes while an operation lives.
};

/// Where the identity of a caller is read: `header:NAME`, `cookie:NAME`, `trusted:NAME` or
/// `shared`.
class scope_rule {
 public:
  /// Errors: throws std::invalid_argument with a sentence for the operator.
  explicit scope_rule(std::string_view text);

  /// The rule as it was written; part of the store's identity rules.
  const std::string& text() const noexcept { return text_; }
  /// Whether all callers share one scope, and so can read each other's answers.
  bool is_shared() const noexcept { return source_ == source::shared; }
  /// Whether the identity comes from a hop in front (`trusted:`).
  bool is_trusted() const noexcept { return source_ == source::trusted; }

  std::variant<scope_hash, scope_fault> derive(const request& from) const;

  /// The scope of a value that this rule would find: for operators who look a key up.
  scope_hash hash(std::string_view value) const;

 private:
  enum class source { header, cookie, trusted, shared };
  std::variant<scope_hash, scope_fault> from_header(const request& from) const;
  std::variant<scope_hash, scope_fault> from_cookie(const request& from) const;

  std::string text_;
  std::string name_;
  source source_ = source::shared;
};

/// The rule `header:NAME`: a long-lived credential as the client sends it.
scope_rule scope_from_header(std::string_view name);

}  // namespace callonce
