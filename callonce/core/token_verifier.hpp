#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace callonce {

/// Says what a bearer token proves; a scope rule `jwt:CLAIM` asks it.
class token_verifier {
 public:
  token_verifier() = default;
  token_verifier(const token_verifier&) = delete;
  token_verifier& operator=(const token_verifier&) = delete;
  virtual ~token_verifier() = default;

  /// The value of a claim of a verified token as text; nothing when the token proves nothing
  /// (signature, algorithm, expiry, issuer, audience) or has no such claim.
  /// Threads: any.
  virtual std::optional<std::string> claim_of(std::string_view token,
                                              std::string_view claim) const = 0;
};

}  // namespace callonce
