#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <callonce/core/digest.hpp>
#include <callonce/core/message.hpp>
#include <callonce/core/token_verifier.hpp>

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
  unproved,            ///< Answered 401: the token proves nothing, or has no such claim.
  unusable,  ///< Answered 503: a JWT under `header:Authorization` changes while an operation lives.
};

/// Where the identity of a caller is read: `header:NAME`, `cookie:NAME`, `trusted:NAME`,
/// `jwt:CLAIM` or `shared`; or a list of these, of which all must be present.
class scope_rule {
 public:
  /// Errors: throws std::invalid_argument with a sentence for the operator.
  explicit scope_rule(std::string_view text);
  /// Errors: the same; `shared` stands alone, and an empty list is none.
  explicit scope_rule(const std::vector<std::string>& texts);

  /// Who says what the tokens of a `jwt:` rule prove; without one no token proves anything.
  void verify_by(std::shared_ptr<const token_verifier> verifier) {
    verifier_ = std::move(verifier);
  }

  /// The rule as it was written; part of the store's identity rules.
  const std::string& text() const noexcept { return text_; }
  /// Whether all callers share one scope, and so can read each other's answers.
  bool is_shared() const noexcept { return has(kind::shared); }
  /// Whether an identity comes from a hop in front (`trusted:`).
  bool is_trusted() const noexcept { return has(kind::trusted); }
  /// Whether a claim of a verified token is wanted (`jwt:`).
  bool needs_verifier() const noexcept { return has(kind::jwt); }
  /// How many values make one scope.
  std::size_t size() const noexcept { return sources_.size(); }

  std::variant<scope_hash, scope_fault> derive(const request& from) const;

  /// The scope of the values that this rule would find, in its order: for operators who look a key
  /// up. Pre: as many as `size()`.
  scope_hash hash(std::span<const std::string> values) const;
  scope_hash hash(std::string_view value) const;

 private:
  enum class kind { header, cookie, trusted, jwt, shared };
  struct source {
    std::string text;
    std::string name;
    kind from = kind::shared;
  };
  using found = std::variant<std::string, scope_fault>;

  static source parse(std::string_view text);
  bool has(kind wanted) const noexcept;
  found value_of(const source& one, const request& from) const;
  static found from_header(const source& one, const request& from);
  static found from_cookie(const source& one, const request& from);
  found from_token(const source& one, const request& from) const;

  std::string text_;
  std::vector<source> sources_;
  std::shared_ptr<const token_verifier> verifier_;
};

/// The rule `header:NAME`: a long-lived credential as the client sends it.
scope_rule scope_from_header(std::string_view name);

}  // namespace callonce
