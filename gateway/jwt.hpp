#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/token_verifier.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// What proves a token.
struct jwt_settings {
  std::filesystem::path key_file;  ///< A public key or certificate as PEM, or a JWKS.
  std::string algorithm;           ///< The only one taken; empty: the usual one of each key.
  std::string issuer;              ///< Empty: any.
  std::string audience;            ///< Empty: any.
};

/// One public key, and the one algorithm that it may be used with.
struct verification_key {
  std::string id;         ///< Its `kid`; empty: none.
  std::string algorithm;  ///< As a token's `alg` names it.
  std::string pem;
};

/// Reads the keys of a file. `algorithm` is pinned for all of them; empty: RS256 for RSA, ES256,
/// ES384 or ES512 by the curve.
/// Errors: throws std::invalid_argument with a sentence for the operator: no public key, a private
/// or symmetric one, a weak one, or none that fits `algorithm`.
std::vector<verification_key> read_verification_keys(const std::filesystem::path& file,
                                                     const std::string& algorithm);

/// Verifies bearer tokens: signature under a pinned algorithm, `exp`, `nbf`, issuer, audience.
/// Nothing of a token is kept, logged or shown.
/// Threads: any.
class jwt_verifier final : public token_verifier {
 public:
  /// Pre: `in` outlives the verifier. Errors: those of `read_verification_keys`.
  jwt_verifier(const jwt_settings& with, const environment& in);

  std::optional<std::string> claim_of(std::string_view token,
                                      std::string_view claim) const override;

 private:
  const verification_key* key_for(std::string_view header) const;

  std::vector<verification_key> keys_;
  std::string issuer_;
  std::string audience_;
  const environment& env_;
};

}  // namespace callonce::gateway
