#include <algorithm>

#include <conform/token.hpp>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace conform {
namespace {

std::string base64url(const std::string& bytes) {
  std::string made((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(made.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  made.resize(static_cast<std::size_t>(size));
  std::replace(made.begin(), made.end(), '+', '-');
  std::replace(made.begin(), made.end(), '/', '_');
  while (made.ends_with('=')) made.pop_back();
  return made;
}

// RFC 7518 section 3.4: both numbers of the signature, 32 bytes each.
std::string two_numbers(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* read = ::d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  std::string made(64, '\0');
  auto* into = reinterpret_cast<unsigned char*>(made.data());
  ::BN_bn2binpad(::ECDSA_SIG_get0_r(read), into, 32);
  ::BN_bn2binpad(::ECDSA_SIG_get0_s(read), into + 32, 32);
  ::ECDSA_SIG_free(read);
  return made;
}

}  // namespace

token_maker::token_maker() : key_(EVP_EC_gen("P-256"), &::EVP_PKEY_free) {}

std::string token_maker::public_pem() const {
  BIO* out = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_PUBKEY(out, key_.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  std::string made(bytes, static_cast<std::size_t>(size));
  ::BIO_free(out);
  return made;
}

std::string token_maker::token(const std::string& claims) const {
  const std::string text = base64url(R"({"alg":"ES256","typ":"JWT"})") + "." + base64url(claims);
  EVP_MD_CTX* context = ::EVP_MD_CTX_new();
  ::EVP_DigestSignInit(context, nullptr, ::EVP_sha256(), nullptr, key_.get());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  ::EVP_DigestSign(context, nullptr, &size, bytes, text.size());
  std::string der(size, '\0');
  ::EVP_DigestSign(context, reinterpret_cast<unsigned char*>(der.data()), &size, bytes,
                   text.size());
  ::EVP_MD_CTX_free(context);
  der.resize(size);
  return text + "." + base64url(two_numbers(der));
}

}  // namespace conform
