#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gateway/jwt_key.hpp>
#include <openssl/evp.h>

namespace callonce::gateway {

struct evp_key_free {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using evp_key = std::unique_ptr<EVP_PKEY, evp_key_free>;

/// Whether tokens signed with `algorithm` can be verified.
bool is_jwt_algorithm(std::string_view algorithm);
/// The algorithm of a key for which none is named; empty for a key that cannot be used.
std::string_view natural_algorithm(const EVP_PKEY& key);
/// Whether a key whose natural algorithm is `natural` makes signatures of `algorithm`.
bool fits(std::string_view algorithm, std::string_view natural);

/// Checks a public key and ties it to `algorithm`; empty means its natural one.
/// Errors: throws std::invalid_argument with a sentence that lacks its subject, the file.
jwt_key pin(evp_key key, std::string_view algorithm, std::string id);

}  // namespace callonce::gateway
