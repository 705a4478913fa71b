#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace callonce::gateway {

/// A public key and the one algorithm whose signatures it is asked about.
struct jwt_key {
  std::string id;  ///< What a token calls it (`kid`); empty: it has no name.
  std::string algorithm;
  std::shared_ptr<evp_pkey_st> key;
};

/// The keys of a file: one PEM public key or certificate, or a JWKS. `algorithm` empty: each key's
/// natural one.
/// Errors: throws std::invalid_argument with a sentence that says what to change.
std::vector<jwt_key> read_jwt_keys(const std::filesystem::path& file, const std::string& algorithm);

/// Whether `signature`, as a token carries it once decoded, is the key's over `text`.
/// Threads: any. Source: RFC 7518 sections 3.3 and 3.4.
bool is_signed_by(const jwt_key& key, std::string_view text, std::string_view signature);

}  // namespace callonce::gateway
