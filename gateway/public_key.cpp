#include <algorithm>
#include <array>
#include <stdexcept>

#include <gateway/public_key.hpp>

namespace callonce::gateway {
namespace {

// Shorter RSA keys are disallowed by RFC 7518, section 3.3.
constexpr int rsa_bits_min = 2048;

bool is_valid(EVP_PKEY* key) {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context{
      EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr), &EVP_PKEY_CTX_free};
  return context && EVP_PKEY_public_check(context.get()) == 1;
}

}  // namespace

bool is_jwt_algorithm(std::string_view algorithm) {
  constexpr std::array<std::string_view, 6> known{"RS256", "RS384", "RS512",
                                                  "ES256", "ES384", "ES512"};
  return std::find(known.begin(), known.end(), algorithm) != known.end();
}

std::string_view natural_algorithm(const EVP_PKEY& key) {
  if (EVP_PKEY_is_a(&key, "RSA") == 1) return "RS256";
  std::array<char, 64> group{};
  if (EVP_PKEY_is_a(&key, "EC") != 1 ||
      EVP_PKEY_get_group_name(&key, group.data(), group.size(), nullptr) != 1) {
    return {};
  }
  const std::string_view curve = group.data();
  if (curve == "prime256v1") return "ES256";
  if (curve == "secp384r1") return "ES384";
  if (curve == "secp521r1") return "ES512";
  return {};
}

bool fits(std::string_view algorithm, std::string_view natural) {
  return natural == "RS256" ? algorithm.starts_with("RS") : algorithm == natural;
}

jwt_key pin(evp_key key, std::string_view algorithm, std::string id) {
  const std::string_view natural = natural_algorithm(*key);
  if (natural.empty()) {
    throw std::invalid_argument{
        "has a key of another kind: use RSA, or EC on the curve P-256, P-384 or P-521"};
  }
  if (natural == "RS256" && EVP_PKEY_get_bits(key.get()) < rsa_bits_min) {
    throw std::invalid_argument{"has an RSA key under 2048 bits: let the issuer use a longer one"};
  }
  if (!is_valid(key.get())) {
    throw std::invalid_argument{"has a public key that is not valid: export the key again"};
  }
  if (algorithm.empty()) algorithm = natural;
  if (!fits(algorithm, natural)) {
    throw std::invalid_argument{"has a key that makes no " + std::string{algorithm} +
                                " signatures: use algorithm " + std::string{natural} +
                                " or the key that fits"};
  }
  return {std::move(id), std::string{algorithm}, std::shared_ptr<EVP_PKEY>{std::move(key)}};
}

}  // namespace callonce::gateway
