#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <gateway/jwks.hpp>
#include <gateway/jwt_text.hpp>
#include <gateway/public_key.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

namespace callonce::gateway {
namespace {

namespace json = boost::json;

struct curve {
  std::string_view name;
  std::size_t coordinate_bytes;
};
constexpr std::array<curve, 3> curves{{{"P-256", 32}, {"P-384", 48}, {"P-521", 66}}};

using number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using builder = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;

std::optional<std::string> text_of(const json::object& key, std::string_view name) {
  const json::value* found = key.if_contains(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) {
    throw std::invalid_argument{"has a key whose member '" + std::string{name} +
                                "' is no text: export the keys again"};
  }
  return std::string{found->get_string()};
}

std::string bytes_of(const json::object& key, std::string_view name) {
  const auto text = text_of(key, name);
  auto bytes = text ? from_base64url(*text) : std::nullopt;
  if (!bytes || bytes->empty()) {
    throw std::invalid_argument{"has a key whose member '" + std::string{name} +
                                "' is missing or no base64url: export the keys again"};
  }
  return *std::move(bytes);
}

const unsigned char* unsigned_bytes(const std::string& bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

number to_number(const std::string& bytes) {
  number made{BN_bin2bn(unsigned_bytes(bytes), static_cast<int>(bytes.size()), nullptr), &BN_free};
  if (!made) throw std::bad_alloc{};
  return made;
}

evp_key key_from(const char* type, const builder& of) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters{
      OSSL_PARAM_BLD_to_param(of.get()), &OSSL_PARAM_free};
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context{
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), &EVP_PKEY_CTX_free};
  if (!parameters || !context) throw std::bad_alloc{};
  EVP_PKEY* made = nullptr;
  if (EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    throw std::invalid_argument{"has a public key that is not valid: export the keys again"};
  }
  return evp_key{made};
}

evp_key rsa_key(const json::object& key) {
  const number modulus = to_number(bytes_of(key, "n"));
  const number exponent = to_number(bytes_of(key, "e"));
  const builder of{OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free};
  if (!of || OSSL_PARAM_BLD_push_BN(of.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(of.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    throw std::bad_alloc{};
  }
  return key_from("RSA", of);
}

const curve* curve_of(const json::object& key) {
  const auto name = text_of(key, "crv");
  const auto* found = std::find_if(curves.begin(), curves.end(),
                                   [&](const curve& each) { return each.name == name; });
  return found == curves.end() ? nullptr : found;
}

evp_key ec_key(const json::object& key, const curve& on) {
  const std::string x = bytes_of(key, "x");
  const std::string y = bytes_of(key, "y");
  if (x.size() != on.coordinate_bytes || y.size() != on.coordinate_bytes) {
    throw std::invalid_argument{
        "has an EC key whose coordinates do not have the length of its curve: export it again"};
  }
  const std::string point = '\x04' + x + y;  // The mark of an uncompressed point.
  const builder of{OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free};
  if (!of ||
      OSSL_PARAM_BLD_push_utf8_string(of.get(), OSSL_PKEY_PARAM_GROUP_NAME, on.name.data(),
                                      on.name.size()) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(of.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    throw std::bad_alloc{};
  }
  return key_from("EC", of);
}

void refuse_secrets(const json::object& key) {
  if (text_of(key, "kty") == "oct" || key.contains("k")) {
    throw std::invalid_argument{
        "holds a symmetric key, and whoever can verify with it could also sign: write only public "
        "keys there"};
  }
  for (const char* name : {"d", "p", "q", "dp", "dq", "qi", "oth"}) {
    if (key.contains(name)) {
      throw std::invalid_argument{"holds a private key: write only public keys there"};
    }
  }
}

bool is_for_signatures(const json::object& key) {
  if (text_of(key, "use").value_or("sig") != "sig") return false;
  const json::value* operations = key.if_contains("key_ops");
  if (operations == nullptr) return true;
  if (!operations->is_array()) return false;
  const json::array& list = operations->get_array();
  return std::any_of(list.begin(), list.end(), [](const json::value& each) {
    return each.is_string() && each.get_string() == "verify";
  });
}

// Nothing for a key that belongs to another use or algorithm.
std::optional<jwt_key> signing_key(const json::object& key, std::string_view algorithm) {
  refuse_secrets(key);
  const std::string own = text_of(key, "alg").value_or(std::string{algorithm});
  if (!is_for_signatures(key) || (!own.empty() && !is_jwt_algorithm(own)) ||
      (!algorithm.empty() && own != algorithm)) {
    return std::nullopt;
  }
  const std::string type = text_of(key, "kty").value_or("");
  const curve* on = type == "EC" ? curve_of(key) : nullptr;
  if (type != "RSA" && on == nullptr) return std::nullopt;
  evp_key made = type == "RSA" ? rsa_key(key) : ec_key(key, *on);
  // The set may hold keys of both kinds; the operator's algorithm picks among them.
  if (!key.contains("alg") && !own.empty() && !fits(own, natural_algorithm(*made))) {
    return std::nullopt;
  }
  return pin(std::move(made), own, text_of(key, "kid").value_or(""));
}

void check_names(const std::vector<jwt_key>& keys) {
  if (keys.size() < 2) return;
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (key->id.empty()) {
      throw std::invalid_argument{
          "has several keys and one without kid, which no token could name: give it a kid"};
    }
    if (std::any_of(keys.begin(), key, [&](const jwt_key& other) {
          return other.id == key->id && other.algorithm == key->algorithm;
        })) {
      throw std::invalid_argument{"has two keys of one kid: give each key its own"};
    }
  }
}

}  // namespace

std::vector<jwt_key> keys_of_jwks(std::string_view text, std::string_view algorithm) {
  const auto set = parse_object(text);
  const json::value* list = set ? set->if_contains("keys") : nullptr;
  if (list == nullptr || !list->is_array()) {
    throw std::invalid_argument{R"(is no JWKS: write JSON with the member "keys", a list of keys)"};
  }
  std::vector<jwt_key> keys;
  for (const json::value& each : list->get_array()) {
    if (!each.is_object()) {
      throw std::invalid_argument{"has a key that is no JSON object: export the keys again"};
    }
    if (auto key = signing_key(each.get_object(), algorithm)) keys.push_back(*std::move(key));
  }
  if (keys.empty()) {
    throw std::invalid_argument{"has no key for " +
                                (algorithm.empty() ? "RS or ES" : std::string{algorithm}) +
                                " signatures: write the token issuer's public signing keys there"};
  }
  check_names(keys);
  return keys;
}

}  // namespace callonce::gateway
