#pragma once

#include <memory>
#include <string>

struct evp_pkey_st;

namespace conform {

/// A maker of tokens: an EC key pair on P-256, whose public half a gateway may be given.
class token_maker {
 public:
  token_maker();
  std::string public_pem() const;
  /// A token with these claims as JSON, signed with ES256.
  std::string token(const std::string& claims) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace conform
