#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gateway/jwt_key.hpp>

#include <callonce/core/token_verifier.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// Whose tokens are believed.
struct jwt_settings {
  std::filesystem::path key_file;  ///< A PEM public key or certificate, or a JWKS.
  std::string algorithm;           ///< Empty: RS256 for an RSA key, by its curve for an EC key.
  std::string issuer;              ///< Empty: `iss` is not looked at.
  std::string audience;            ///< Empty: `aud` is not looked at.
};

/// Verifies signed JSON Web Tokens (RFC 7519) with the keys of a file that is read once. A token
/// needs `exp`; its `typ`, if there, is `JWT` or `at+jwt`.
class jwt_verifier final : public token_verifier {
 public:
  /// Pre: `in` outlives it.
  /// Errors: throws std::invalid_argument with a sentence for the operator.
  jwt_verifier(const jwt_settings& settings, const environment& in);

  /// A claim whose value is text that is not empty, as it is, or an integer, in decimal digits.
  std::optional<std::string> claim_of(std::string_view token,
                                      std::string_view claim) const override;

 private:
  std::vector<jwt_key> keys_;
  std::string issuer_;
  std::string audience_;
  const environment& environment_;
};

}  // namespace callonce::gateway
