#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <gateway/jwt_test_support.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

namespace callonce::gateway {
namespace {

void must(bool done) {
  if (!done) throw std::runtime_error("OpenSSL refused");
}

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

template <class Write>
std::string pem_of(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> out{BIO_new(BIO_s_mem()), &BIO_free_all};
  must(write(out.get()) == 1);
  std::string text(BIO_ctrl_pending(out.get()), '\0');
  must(BIO_read(out.get(), text.data(), static_cast<int>(text.size())) > 0);
  return text;
}

std::string bytes_of(const BIGNUM* number, std::size_t bytes) {
  const std::size_t size =
      bytes == 0 ? static_cast<std::size_t>(BN_num_bits(number) + 7) / 8 : bytes;
  std::vector<unsigned char> raw(size);
  must(BN_bn2binpad(number, raw.data(), static_cast<int>(size)) >= 0);
  return {raw.begin(), raw.end()};
}

// A token carries r and s one behind the other, OpenSSL gives them in DER.
std::string raw_signature(const std::string& der, std::size_t bytes) {
  const unsigned char* at = unsigned_bytes(der);
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> both{
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), &ECDSA_SIG_free};
  must(both != nullptr);
  return bytes_of(ECDSA_SIG_get0_r(both.get()), bytes) +
         bytes_of(ECDSA_SIG_get0_s(both.get()), bytes);
}

std::size_t coordinate_bytes(const EVP_PKEY* key) {
  return static_cast<std::size_t>(EVP_PKEY_get_bits(key) + 7) / 8;
}

}  // namespace

signer signer::rsa(unsigned bits) {
  return signer{EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{bits})};
}

signer signer::ec(const char* curve) {
  return signer{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve)};
}

std::string signer::public_pem() const {
  return pem_of([&](BIO* out) { return PEM_write_bio_PUBKEY(out, key_.get()); });
}

std::string signer::private_pem() const {
  return pem_of([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string signer::certificate_pem() const {
  const std::unique_ptr<X509, decltype(&X509_free)> made{X509_new(), &X509_free};
  must(X509_set_pubkey(made.get(), key_.get()) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 60);
  must(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0);
  return pem_of([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
}

std::string signer::number(const char* name, std::size_t bytes) const {
  BIGNUM* found = nullptr;
  must(EVP_PKEY_get_bn_param(key_.get(), name, &found) == 1);
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> owned{found, &BN_free};
  return to_base64url(bytes_of(found, bytes));
}

std::string signer::jwk(const std::string& more) const {
  if (EVP_PKEY_is_a(key_.get(), "RSA") == 1) {
    return "{" + more + R"("kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
           number(OSSL_PKEY_PARAM_RSA_E, 0) + R"("})";
  }
  const std::size_t bytes = coordinate_bytes(key_.get());
  const char* curve = bytes == 32 ? "P-256" : bytes == 48 ? "P-384" : "P-521";
  return "{" + more + R"("kty":"EC","crv":")" + curve + R"(","x":")" +
         number(OSSL_PKEY_PARAM_EC_PUB_X, bytes) + R"(","y":")" +
         number(OSSL_PKEY_PARAM_EC_PUB_Y, bytes) + R"("})";
}

std::string signer::sign(std::string_view algorithm, std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free};
  EVP_PKEY_CTX* with = nullptr;
  const std::string digest = "SHA" + std::string{algorithm.substr(2)};
  must(EVP_DigestSignInit_ex(context.get(), &with, digest.c_str(), nullptr, nullptr, key_.get(),
                             nullptr) == 1);
  if (algorithm.starts_with("PS")) {
    must(EVP_PKEY_CTX_set_rsa_padding(with, RSA_PKCS1_PSS_PADDING) == 1);
    must(EVP_PKEY_CTX_set_rsa_pss_saltlen(with, RSA_PSS_SALTLEN_DIGEST) == 1);
  }
  std::size_t size = 0;
  must(EVP_DigestSign(context.get(), nullptr, &size, unsigned_bytes(text), text.size()) == 1);
  std::vector<unsigned char> made(size);
  must(EVP_DigestSign(context.get(), made.data(), &size, unsigned_bytes(text), text.size()) == 1);
  const std::string signature{made.begin(), made.begin() + static_cast<std::ptrdiff_t>(size)};
  return EVP_PKEY_is_a(key_.get(), "EC") == 1
             ? raw_signature(signature, coordinate_bytes(key_.get()))
             : signature;
}

std::string signer::token(std::string_view algorithm, const std::string& header,
                          const std::string& payload) const {
  const std::string text = to_base64url(header) + "." + to_base64url(payload);
  return text + "." + to_base64url(sign(algorithm, text));
}

std::string signer::token(std::string_view algorithm, const std::string& payload) const {
  return token(algorithm, R"({"typ":"JWT","alg":")" + std::string{algorithm} + R"("})", payload);
}

const signer& rsa_signer() {
  static const signer made = signer::rsa(2048);
  return made;
}

const signer& other_rsa_signer() {
  static const signer made = signer::rsa(2048);
  return made;
}

const signer& ec_signer() {
  static const signer made = signer::ec("P-256");
  return made;
}

std::string to_base64url(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned held = 0;
  unsigned held_bits = 0;
  for (const char byte : bytes) {
    held = (held << 8U | static_cast<unsigned char>(byte)) & 0xffffU;
    for (held_bits += 8; held_bits >= 6; held_bits -= 6) {
      text += digits[held >> (held_bits - 6) & 63U];
    }
  }
  if (held_bits > 0) text += digits[held << (6 - held_bits) & 63U];
  return text;
}

std::string hmac_sha256(std::string_view secret, std::string_view text) {
  std::vector<unsigned char> made(32);
  must(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), unsigned_bytes(text),
            text.size(), made.data(), nullptr) != nullptr);
  return {made.begin(), made.end()};
}

key_directory::key_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "callonce-jwt-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

key_directory::~key_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path key_directory::write(const std::string& text) {
  std::filesystem::path file = path_ / ("key" + std::to_string(++written_));
  std::ofstream{file, std::ios::binary} << text;
  return file;
}

}  // namespace callonce::gateway
