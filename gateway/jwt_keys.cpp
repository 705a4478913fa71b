#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <gateway/jwt.hpp>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace callonce::gateway {
namespace {

namespace json = boost::json;

template <auto Free>
struct freed {
  template <class Pointee>
  void operator()(Pointee* of) const noexcept {
    Free(of);
  }
};
using bio = std::unique_ptr<BIO, freed<&::BIO_free_all>>;
using evp_key = std::unique_ptr<EVP_PKEY, freed<&::EVP_PKEY_free>>;
using evp_context = std::unique_ptr<EVP_PKEY_CTX, freed<&::EVP_PKEY_CTX_free>>;
using certificate = std::unique_ptr<X509, freed<&::X509_free>>;
using builder = std::unique_ptr<OSSL_PARAM_BLD, freed<&::OSSL_PARAM_BLD_free>>;
using parameters = std::unique_ptr<OSSL_PARAM, freed<&::OSSL_PARAM_free>>;
using big_number = std::unique_ptr<BIGNUM, freed<&::BN_free>>;

// Smaller ones are no longer held to be safe (NIST SP 800-131A).
constexpr int rsa_bits_min = 2048;
constexpr std::uintmax_t file_bytes_max = std::uintmax_t{1} << 20;

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

std::string read_whole(const std::filesystem::path& file) {
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::file_size(file, fault);
  std::ifstream in(file, std::ios::binary);
  if (fault || !in) refuse(file.string() + " cannot be read: name a readable file");
  if (size > file_bytes_max) refuse(file.string() + " is larger than any key: name the key's file");
  return {std::istreambuf_iterator<char>{in}, {}};
}

struct curve {
  std::string_view jwk;
  std::string_view group;
  std::string_view algorithm;
  std::size_t bytes;
};
constexpr std::array<curve, 3> curves{{{"P-256", "prime256v1", "ES256", 32},
                                       {"P-384", "secp384r1", "ES384", 48},
                                       {"P-521", "secp521r1", "ES512", 66}}};

// What a key may be used with, the usual one first. Errors: throws.
std::vector<std::string> algorithms_of(EVP_PKEY* key) {
  if (::EVP_PKEY_is_a(key, "RSA") == 1) {
    if (::EVP_PKEY_get_bits(key) < rsa_bits_min) {
      refuse("the RSA key is too short to be safe: use one of 2048 bits or more");
    }
    return {"RS256", "RS384", "RS512"};
  }
  std::array<char, 64> name{};
  std::size_t length = 0;
  if (::EVP_PKEY_is_a(key, "EC") == 1 &&
      ::EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) == 1) {
    for (const curve& each : curves) {
      if (each.group == std::string_view{name.data(), length}) return {std::string{each.algorithm}};
    }
  }
  refuse("this kind of key proves no tokens here: use RSA, or EC on P-256, P-384 or P-521");
}

bool is_among(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string to_pem(EVP_PKEY* key) {
  const bio out{::BIO_new(::BIO_s_mem())};
  if (::PEM_write_bio_PUBKEY(out.get(), key) != 1) refuse("the key cannot be written as PEM");
  char* bytes = nullptr;
  const long size = ::BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

evp_key read_pem(const std::string& text) {
  if (text.find("PRIVATE KEY") != std::string::npos) {
    refuse(
        "the file holds a private key, which must stay with whoever makes tokens: name the "
        "public key");
  }
  const bio in{::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
  evp_key key{::PEM_read_bio_PUBKEY(in.get(), nullptr, nullptr, nullptr)};
  if (!key) {
    const bio again{::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
    const certificate holder{::PEM_read_bio_X509(again.get(), nullptr, nullptr, nullptr)};
    if (holder) key.reset(::X509_get_pubkey(holder.get()));
  }
  ::ERR_clear_error();
  if (!key) refuse("the file is neither a public key nor a certificate in PEM, nor a JWKS");
  return key;
}

std::string text_of(const json::object& in, std::string_view name) {
  const json::value* const found = in.if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return std::string{std::string_view{found->as_string()}};
}

// RFC 7518 sections 6.2 and 6.3: numbers are base64url, highest byte first.
std::string bytes_of(const json::object& in, std::string_view name) {
  std::string text = text_of(in, name);
  for (char& each : text) each = each == '-' ? '+' : each == '_' ? '/' : each;
  const std::size_t padding = (4 - text.size() % 4) % 4;
  text.append(padding, '=');
  std::string made(text.size(), '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(made.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (size < static_cast<int>(padding)) return {};
  made.resize(static_cast<std::size_t>(size) - padding);
  return made;
}

evp_key build(const char* type, OSSL_PARAM_BLD* from) {
  const parameters made{::OSSL_PARAM_BLD_to_param(from)};
  const evp_context context{::EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
  EVP_PKEY* key = nullptr;
  if (made && context && ::EVP_PKEY_fromdata_init(context.get()) == 1) {
    ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, made.get());
  }
  ::ERR_clear_error();
  return evp_key{key};
}

big_number number(const std::string& bytes) {
  return big_number{::BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()), nullptr)};
}

evp_key rsa_key(const json::object& from) {
  const big_number modulus = number(bytes_of(from, "n"));
  const big_number exponent = number(bytes_of(from, "e"));
  const builder made{::OSSL_PARAM_BLD_new()};
  ::OSSL_PARAM_BLD_push_BN(made.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  ::OSSL_PARAM_BLD_push_BN(made.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return build("RSA", made.get());
}

evp_key ec_key(const json::object& from) {
  const std::string name = text_of(from, "crv");
  for (const curve& each : curves) {
    if (each.jwk != name) continue;
    const std::string x = bytes_of(from, "x");
    const std::string y = bytes_of(from, "y");
    if (x.size() != each.bytes || y.size() != each.bytes) return nullptr;
    const std::string point = '\x04' + x + y;
    const builder made{::OSSL_PARAM_BLD_new()};
    ::OSSL_PARAM_BLD_push_utf8_string(made.get(), OSSL_PKEY_PARAM_GROUP_NAME, each.group.data(), 0);
    ::OSSL_PARAM_BLD_push_octet_string(made.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size());
    return build("EC", made.get());
  }
  return nullptr;
}

// Keys for other uses stand in the same lists, so what does not fit is passed over.
void add_jwk(const json::object& from, const std::string& pinned,
             std::vector<verification_key>& to) {
  const std::string type = text_of(from, "kty");
  if (type == "oct") {
    refuse(
        "the file holds a symmetric key: whoever can check tokens with it could make them too, "
        "so use a public one");
  }
  if (from.if_contains("d") != nullptr) {
    refuse(
        "the file holds a private key, which must stay with whoever makes tokens: name the "
        "public key");
  }
  const std::string use = text_of(from, "use");
  if (!use.empty() && use != "sig") return;
  const evp_key key = type == "RSA" ? rsa_key(from) : type == "EC" ? ec_key(from) : nullptr;
  if (!key) return;
  const std::vector<std::string> fitting = algorithms_of(key.get());
  const std::string own = text_of(from, "alg");
  const std::string wanted = !pinned.empty() ? pinned : !own.empty() ? own : fitting.front();
  if ((!own.empty() && own != wanted) || !is_among(fitting, wanted)) return;
  to.push_back({text_of(from, "kid"), wanted, to_pem(key.get())});
}

std::vector<verification_key> read_jwks(const std::string& text, const std::string& pinned) {
  boost::system::error_code fault;
  const json::value read = json::parse(text, fault);
  if (fault || !read.is_object()) refuse("the file is no JSON: name a PEM file or a JWKS");
  std::vector<verification_key> made;
  const json::value* const keys = read.as_object().if_contains("keys");
  if (keys == nullptr) {
    add_jwk(read.as_object(), pinned, made);
  } else if (keys->is_array()) {
    for (const json::value& each : keys->as_array()) {
      if (each.is_object()) add_jwk(each.as_object(), pinned, made);
    }
  }
  if (made.empty()) {
    refuse("the JWKS has no public key that fits" + (pinned.empty() ? "" : " " + pinned) +
           ": it needs an RSA or EC key for signatures");
  }
  return made;
}

}  // namespace

std::vector<verification_key> read_verification_keys(const std::filesystem::path& file,
                                                     const std::string& algorithm) {
  constexpr std::array<std::string_view, 6> known{"RS256", "RS384", "RS512",
                                                  "ES256", "ES384", "ES512"};
  if (!algorithm.empty() && std::find(known.begin(), known.end(), algorithm) == known.end()) {
    refuse("'" + algorithm +
           "' is no algorithm with a public key: use RS256, RS384, RS512, ES256, "
           "ES384 or ES512");
  }
  const std::string text = read_whole(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return read_jwks(text, algorithm);
  const evp_key key = read_pem(text);
  const std::vector<std::string> fitting = algorithms_of(key.get());
  if (!algorithm.empty() && !is_among(fitting, algorithm)) {
    refuse("the key cannot be used with " + algorithm + ": use " + fitting.front());
  }
  return {{"", algorithm.empty() ? fitting.front() : algorithm, to_pem(key.get())}};
}

}  // namespace callonce::gateway
