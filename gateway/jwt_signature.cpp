#include <memory>
#include <optional>

#include <gateway/jwt_key.hpp>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

namespace callonce::gateway {
namespace {

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm.ends_with("256")) return EVP_sha256();
  if (algorithm.ends_with("384")) return EVP_sha384();
  return algorithm.ends_with("512") ? EVP_sha512() : nullptr;
}

std::size_t number_bytes(std::string_view algorithm) {
  if (algorithm == "ES256") return 32;
  return algorithm == "ES384" ? 48 : 66;
}

// A token has the two numbers side by side, each as long as the curve; OpenSSL wants them in DER.
std::optional<std::string> to_der(std::string_view numbers, std::size_t each) {
  if (numbers.size() != each * 2) return std::nullopt;
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> made{ECDSA_SIG_new(),
                                                                   &ECDSA_SIG_free};
  BIGNUM* first = BN_bin2bn(bytes(numbers), static_cast<int>(each), nullptr);
  BIGNUM* second = BN_bin2bn(bytes(numbers.substr(each)), static_cast<int>(each), nullptr);
  if (!made || ECDSA_SIG_set0(made.get(), first, second) != 1) {
    BN_free(first);
    BN_free(second);
    return std::nullopt;
  }
  const int size = i2d_ECDSA_SIG(made.get(), nullptr);
  if (size <= 0) return std::nullopt;
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* into = reinterpret_cast<unsigned char*>(der.data());
  i2d_ECDSA_SIG(made.get(), &into);
  return der;
}

}  // namespace

bool is_signed_by(const jwt_key& key, std::string_view text, std::string_view signature) {
  const EVP_MD* const digest = digest_of(key.algorithm);
  if (digest == nullptr) return false;
  std::optional<std::string> der;
  if (key.algorithm.starts_with("ES")) {
    der = to_der(signature, number_bytes(key.algorithm));
    if (!der) return false;
    signature = *der;
  }
  ERR_set_mark();
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free};
  const bool good =
      context &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.key.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                       text.size()) == 1;
  ERR_pop_to_mark();
  return good;
}

}  // namespace callonce::gateway
