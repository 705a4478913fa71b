#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>

#include <gateway/jwks.hpp>
#include <gateway/jwt_key.hpp>
#include <gateway/public_key.hpp>
#include <openssl/bio.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace callonce::gateway {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20U;
constexpr std::string_view pem_begin = "-----BEGIN ";

using bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

bio bio_over(const std::string& text) {
  bio made{BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free_all};
  if (!made) throw std::bad_alloc{};
  return made;
}

// An encrypted block has no answer here; OpenSSL would otherwise ask the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

std::string read_whole(const std::filesystem::path& file) {
  std::error_code unknown;
  std::ifstream in{file, std::ios::binary};
  if (!in || !std::filesystem::is_regular_file(file, unknown)) {
    throw std::invalid_argument{
        "cannot be read: put the token issuer's public key there and let this user read it"};
  }
  std::string text(file_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > file_bytes_max) {
    throw std::invalid_argument{
        "is larger than 1 MiB: write only the token issuer's public keys there"};
  }
  return text;
}

// A certificate is taken for its key alone: that the operator wrote it there is what makes it
// trusted, so neither its dates nor its issuer are looked at.
evp_key key_of_certificate(const std::string& text) {
  const bio in = bio_over(text);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate{
      PEM_read_bio_X509(in.get(), nullptr, &no_password, nullptr), &X509_free};
  return evp_key{certificate ? X509_get_pubkey(certificate.get()) : nullptr};
}

// The decoder takes `PUBLIC KEY` as well as `RSA PUBLIC KEY`, unlike PEM_read_bio_PUBKEY.
evp_key key_of_public_key(const std::string& text) {
  const bio in = bio_over(text);
  EVP_PKEY* found = nullptr;
  const std::unique_ptr<OSSL_DECODER_CTX, decltype(&OSSL_DECODER_CTX_free)> decoder{
      OSSL_DECODER_CTX_new_for_pkey(&found, "PEM", nullptr, nullptr, EVP_PKEY_PUBLIC_KEY, nullptr,
                                    nullptr),
      &OSSL_DECODER_CTX_free};
  if (!decoder || OSSL_DECODER_from_bio(decoder.get(), in.get()) != 1) found = nullptr;
  return evp_key{found};
}

evp_key read_pem(const std::string& text) {
  const std::size_t first = text.find(pem_begin);
  if (text.find(pem_begin, first + 1) != std::string::npos) {
    throw std::invalid_argument{
        "has more than one PEM block: keep the one of the signing key, or write a JWKS"};
  }
  evp_key key = text.find("-----BEGIN CERTIFICATE-----") == std::string::npos
                    ? key_of_public_key(text)
                    : key_of_certificate(text);
  if (!key) {
    throw std::invalid_argument{
        "has a PEM block that is no public key and no certificate: export the key again"};
  }
  return key;
}

std::vector<jwt_key> keys_of_text(const std::string& text, const std::string& algorithm) {
  if (text.find("PRIVATE KEY-----") != std::string::npos) {
    throw std::invalid_argument{
        "holds a private key: put only the public key there, e.g. of openssl pkey -pubout"};
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && text[start] == '{') {
    return keys_of_jwks(std::string_view{text}.substr(start), algorithm);
  }
  if (text.find(pem_begin) == std::string::npos) {
    throw std::invalid_argument{
        "is neither PEM nor a JWKS: write a PEM public key, a PEM certificate or a JWKS there"};
  }
  return {pin(read_pem(text), algorithm, {})};
}

void check_algorithm(const std::string& name) {
  if (name.empty() || is_jwt_algorithm(name)) return;
  const std::string shown = "algorithm '" + name + "' ";
  if (name.starts_with("HS")) {
    throw std::invalid_argument{shown +
                                "is symmetric, so whoever can verify could also sign: use RS256 "
                                "or ES256 with a public key"};
  }
  throw std::invalid_argument{shown +
                              "cannot be verified: use RS256, RS384, RS512, ES256, ES384 or ES512"};
}

}  // namespace

std::vector<jwt_key> read_jwt_keys(const std::filesystem::path& file,
                                   const std::string& algorithm) {
  check_algorithm(algorithm);
  ERR_set_mark();
  try {
    std::vector<jwt_key> keys = keys_of_text(read_whole(file), algorithm);
    ERR_pop_to_mark();
    return keys;
  } catch (const std::invalid_argument& mistake) {
    ERR_pop_to_mark();
    throw std::invalid_argument{"'" + file.string() + "' " + mistake.what()};
  }
}

}  // namespace callonce::gateway
