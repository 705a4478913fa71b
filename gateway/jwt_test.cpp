#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <gateway/jwt.hpp>
#include <gtest/gtest.h>
#include <jwt.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

constexpr long now_s = 1'800'000'000;

// A wall clock that stands still.
class standing_clock final : public environment {
 public:
  steady_time now() const override { return {}; }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::time_point{std::chrono::seconds{now_s}};
  }
  void fill_random(std::span<std::byte>) override {}
  std::unique_ptr<alarm> call_at(const asio::any_io_executor&, steady_time,
                                 std::function<void()>) override {
    return nullptr;
  }
};

std::string text_of(BIO* from) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(from, &bytes);
  std::string made(bytes, static_cast<std::size_t>(size));
  BIO_free(from);
  return made;
}

std::string base64url(const std::string& bytes) {
  std::string made((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(made.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  made.resize(static_cast<std::size_t>(size));
  for (char& each : made) each = each == '+' ? '-' : each == '/' ? '_' : each;
  while (made.ends_with('=')) made.pop_back();
  return made;
}

// A key pair that a token maker would have.
class maker {
 public:
  static maker rsa(unsigned bits = 2048) { return maker{EVP_RSA_gen(bits)}; }
  static maker ec(const char* group) { return maker{EVP_EC_gen(group)}; }

  std::string public_pem() const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(out, key_.get());
    return text_of(out);
  }
  std::string private_pem() const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(out);
  }
  std::string token(jwt_alg_t by, const std::string& claims, const char* kid = nullptr) const {
    jwt_t* made = nullptr;
    jwt_new(&made);
    jwt_add_grants_json(made, claims.c_str());
    if (kid != nullptr) jwt_add_header(made, "kid", kid);
    const std::string secret = private_pem();
    jwt_set_alg(made, by, reinterpret_cast<const unsigned char*>(secret.data()),
                static_cast<int>(secret.size()));
    char* text = jwt_encode_str(made);
    std::string whole = text != nullptr ? text : "";
    std::free(text);
    jwt_free(made);
    return whole;
  }
  std::string jwk(const std::string& kid, const std::string& more = "") const {
    std::string members = "\"kid\":\"" + kid + "\"" + more;
    if (EVP_PKEY_is_a(key_.get(), "RSA") == 1) {
      members += R"(,"kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
                 number(OSSL_PKEY_PARAM_RSA_E, 0) + "\"";
    } else {
      const bool small = EVP_PKEY_get_bits(key_.get()) == 256;
      const int bytes = small ? 32 : EVP_PKEY_get_bits(key_.get()) == 384 ? 48 : 66;
      const char* name = small ? "P-256" : bytes == 48 ? "P-384" : "P-521";
      members += std::string{R"(,"kty":"EC","crv":")"} + name + R"(","x":")" +
                 number(OSSL_PKEY_PARAM_EC_PUB_X, bytes) + R"(","y":")" +
                 number(OSSL_PKEY_PARAM_EC_PUB_Y, bytes) + "\"";
    }
    return "{" + members + "}";
  }

 private:
  explicit maker(EVP_PKEY* key) : key_(key, &EVP_PKEY_free) {}
  std::string number(const char* name, int bytes) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    std::string made(static_cast<std::size_t>(bytes != 0 ? bytes : BN_num_bytes(value)), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(made.data()),
                 static_cast<int>(made.size()));
    BN_free(value);
    return base64url(made);
  }
  std::shared_ptr<EVP_PKEY> key_;
};

class Jwt : public testing::Test {
 protected:
  Jwt() {
    std::string name = (std::filesystem::temp_directory_path() / "jwt-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~Jwt() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path file(const std::string& text) {
    const auto path = directory_ / ("key" + std::to_string(++files_));
    std::ofstream{path} << text;
    return path;
  }
  jwt_verifier verifier(const std::string& key, const std::string& algorithm = "",
                        const std::string& issuer = "", const std::string& audience = "") {
    return jwt_verifier{jwt_settings{file(key), algorithm, issuer, audience}, clock_};
  }
  std::string refusal(const std::string& key, const std::string& algorithm = "") {
    try {
      read_verification_keys(file(key), algorithm);
    } catch (const std::invalid_argument& why) {
      return why.what();
    }
    return {};
  }

  static std::string claims(const std::string& more = "", long expires = now_s + 600) {
    return R"({"sub":"u1","tenant":7,"exp":)" + std::to_string(expires) + more + "}";
  }

  standing_clock clock_;
  std::filesystem::path directory_;
  int files_ = 0;
};

TEST_F(Jwt, EachAlgorithmProvesItsTokensA04) {
  const struct {
    maker with;
    jwt_alg_t by;
    const char* name;
  } rows[] = {
      {maker::rsa(), JWT_ALG_RS256, "RS256"},       {maker::rsa(), JWT_ALG_RS384, "RS384"},
      {maker::rsa(), JWT_ALG_RS512, "RS512"},       {maker::ec("P-256"), JWT_ALG_ES256, "ES256"},
      {maker::ec("P-384"), JWT_ALG_ES384, "ES384"}, {maker::ec("P-521"), JWT_ALG_ES512, "ES512"}};
  for (const auto& row : rows) {
    const auto as_pem = verifier(row.with.public_pem(), row.name);
    const auto as_jwk = verifier(row.with.jwk("k1"), row.name);
    const std::string token = row.with.token(row.by, claims());
    EXPECT_EQ(as_pem.claim_of(token, "sub"), "u1") << row.name;
    EXPECT_EQ(as_jwk.claim_of(token, "sub"), "u1") << row.name;
    EXPECT_EQ(as_pem.claim_of(token, "tenant"), "7") << row.name;
    // Another token of the same caller is the same caller.
    const std::string later = row.with.token(row.by, claims(R"(,"jti":"2")", now_s + 900));
    EXPECT_EQ(as_pem.claim_of(later, "sub"), "u1") << row.name;
  }
}

TEST_F(Jwt, WhatIsNotProvedGivesNothing) {
  const maker own = maker::rsa();
  const auto by = verifier(own.public_pem());
  const auto sub = [&](const std::string& token) { return by.claim_of(token, "sub"); };
  const std::string good = own.token(JWT_ALG_RS256, claims());
  ASSERT_EQ(sub(good), "u1");

  EXPECT_FALSE(sub(maker::rsa().token(JWT_ALG_RS256, claims()))) << "another maker";
  EXPECT_FALSE(sub(own.token(JWT_ALG_RS384, claims()))) << "an algorithm that is not pinned";
  std::string tampered = good;
  tampered[good.find('.') + 5] = tampered[good.find('.') + 5] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(sub(tampered));
  const std::string unsigned_one =
      base64url(R"({"alg":"none","typ":"JWT"})") + "." + base64url(claims()) + ".";
  EXPECT_FALSE(sub(unsigned_one));
  // The public key taken for a shared secret.
  jwt_t* confused = nullptr;
  jwt_new(&confused);
  jwt_add_grants_json(confused, claims().c_str());
  const std::string pem = own.public_pem();
  jwt_set_alg(confused, JWT_ALG_HS256, reinterpret_cast<const unsigned char*>(pem.data()),
              static_cast<int>(pem.size()));
  char* text = jwt_encode_str(confused);
  EXPECT_FALSE(sub(text));
  std::free(text);
  jwt_free(confused);

  EXPECT_FALSE(sub("")) << "empty";
  EXPECT_FALSE(sub(good.substr(0, good.rfind('.'))));
  EXPECT_FALSE(sub(good + ".x"));
  EXPECT_FALSE(sub("a.b.c"));
  EXPECT_FALSE(sub(good + std::string(1, '\0')));
  EXPECT_FALSE(sub(std::string(20000, 'a') + ".b.c"));
}

TEST_F(Jwt, TimesAreJudgedWithALeeway) {
  const maker own = maker::ec("P-256");
  const auto by = verifier(own.public_pem());
  const auto valid = [&](const std::string& with) {
    return by.claim_of(own.token(JWT_ALG_ES256, with), "sub").has_value();
  };
  EXPECT_TRUE(valid(claims("", now_s - 59)));
  EXPECT_FALSE(valid(claims("", now_s - 61)));
  EXPECT_FALSE(valid(R"({"sub":"u1"})")) << "a token that never ends";
  EXPECT_FALSE(valid(R"({"sub":"u1","exp":"1900000000"})"));
  EXPECT_TRUE(valid(claims(",\"nbf\":" + std::to_string(now_s + 59))));
  EXPECT_FALSE(valid(claims(",\"nbf\":" + std::to_string(now_s + 61))));
  EXPECT_FALSE(valid(claims(",\"nbf\":\"soon\"")));
}

TEST_F(Jwt, IssuerAndAudienceMustFit) {
  const maker own = maker::ec("P-256");
  const auto by = verifier(own.public_pem(), "", "https://id.example", "payments");
  const auto valid = [&](const std::string& more) {
    return by.claim_of(own.token(JWT_ALG_ES256, claims(more)), "sub").has_value();
  };
  EXPECT_TRUE(valid(R"(,"iss":"https://id.example","aud":"payments")"));
  EXPECT_TRUE(valid(R"(,"iss":"https://id.example","aud":["x","payments"])"));
  EXPECT_FALSE(valid(R"(,"iss":"https://id.example","aud":["x"])"));
  EXPECT_FALSE(valid(R"(,"iss":"https://id.example","aud":"payments2")"));
  EXPECT_FALSE(valid(R"(,"iss":"https://id.example")"));
  EXPECT_FALSE(valid(R"(,"iss":"https://other.example","aud":"payments")"));
  EXPECT_FALSE(valid(R"(,"aud":"payments")"));
}

TEST_F(Jwt, C105AClaimThatIsNoTextOrNumberIsNoScope) {
  const maker own = maker::ec("P-256");
  const auto by = verifier(own.public_pem());
  const auto claim = [&](const std::string& more, const char* name) {
    return by.claim_of(own.token(JWT_ALG_ES256, claims(more)), name);
  };
  EXPECT_EQ(claim(R"(,"https://a.example/t":"t1")", "https://a.example/t"), "t1");
  for (const char* value : {"\"\"", "true", "null", "1.5", "{}", "[\"a\"]"}) {
    EXPECT_FALSE(claim(std::string{",\"x\":"} + value, "x")) << value;
  }
  EXPECT_FALSE(claim("", "x"));
}

TEST_F(Jwt, AListOfKeysIsChosenFromByName) {
  const maker one = maker::rsa();
  const maker two = maker::ec("P-256");
  const maker other_use = maker::rsa();
  const auto by =
      verifier("{\"keys\":[" + one.jwk("a") + "," + two.jwk("b", R"(,"use":"sig")") + "," +
               other_use.jwk("c", R"(,"use":"enc")") + R"(,{"kty":"OKP","kid":"d"}]})");
  const auto sub = [&](const std::string& token) { return by.claim_of(token, "sub"); };
  EXPECT_EQ(sub(one.token(JWT_ALG_RS256, claims(), "a")), "u1");
  EXPECT_EQ(sub(two.token(JWT_ALG_ES256, claims(), "b")), "u1");
  EXPECT_FALSE(sub(one.token(JWT_ALG_RS256, claims(), "b")));
  EXPECT_FALSE(sub(one.token(JWT_ALG_RS256, claims(), "z")));
  EXPECT_FALSE(sub(one.token(JWT_ALG_RS256, claims()))) << "no name, two keys";
  EXPECT_FALSE(sub(other_use.token(JWT_ALG_RS256, claims(), "c")));
}

TEST_F(Jwt, AKeyThatProvesNothingIsRefusedWithAnAdvice) {
  const maker rsa = maker::rsa();
  const struct {
    std::string key;
    std::string algorithm;
    const char* says;
  } rows[] = {
      {"", "", "neither a public key"},
      {"no key", "", "neither a public key"},
      {"{", "", "no JSON"},
      {"{\"keys\":[]}", "", "no public key that fits"},
      {rsa.private_pem(), "", "private key"},
      {R"({"keys":[{"kty":"oct","k":"c2VjcmV0"}]})", "", "symmetric"},
      {rsa.jwk("a", R"(,"d":"x")"), "", "private key"},
      {maker::rsa(1024).public_pem(), "", "too short"},
      {rsa.public_pem(), "HS256", "no algorithm with a public key"},
      {rsa.public_pem(), "none", "no algorithm with a public key"},
      {rsa.public_pem(), "ES256", "cannot be used with ES256"},
      {maker::ec("P-384").public_pem(), "ES256", "cannot be used with ES256: use ES384"},
      {maker::ec("secp256k1").public_pem(), "", "kind of key"},
      {maker::ec("P-384").jwk("a"), "RS256", "no public key that fits RS256"},
  };
  for (const auto& row : rows) {
    EXPECT_NE(refusal(row.key, row.algorithm).find(row.says), std::string::npos)
        << row.says << ", seen: " << refusal(row.key, row.algorithm);
  }
  EXPECT_THROW(read_verification_keys(directory_ / "absent", ""), std::invalid_argument);
}

}  // namespace
}  // namespace callonce::gateway
