#pragma once

#include <string_view>
#include <vector>

#include <gateway/jwt_key.hpp>

namespace callonce::gateway {

/// The signing keys of a JSON Web Key Set (RFC 7517). Keys for other uses, of other kinds and for
/// other algorithms than `algorithm` (empty: any that can be verified) are left out. Post: one key
/// at least; of several, each is the only one with its name and algorithm.
/// Errors: throws std::invalid_argument with a sentence that lacks its subject, the file.
std::vector<jwt_key> keys_of_jwks(std::string_view text, std::string_view algorithm);

}  // namespace callonce::gateway
