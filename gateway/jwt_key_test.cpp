#include <stdexcept>
#include <vector>

#include <gateway/jwt_key.hpp>
#include <gateway/jwt_test_support.hpp>
#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace callonce::gateway {
namespace {

std::string mistake_of(const std::filesystem::path& file, const std::string& algorithm) {
  try {
    read_jwt_keys(file, algorithm);
  } catch (const std::invalid_argument& mistake) {
    return mistake.what();
  }
  return "accepted";
}

std::string set_of(const std::string& keys) {
  return R"({"keys":[)" + keys + "]}";
}

struct refusal {
  const char* name;
  std::string text;
  const char* algorithm;
  const char* says;
};

void expect_refused(const std::vector<refusal>& rows) {
  key_directory keys;
  for (const refusal& row : rows) {
    const std::string says = mistake_of(keys.write(row.text), row.algorithm);
    EXPECT_NE(says.find(row.says), std::string::npos) << row.name << ": " << says;
    EXPECT_EQ(says.find('\n'), std::string::npos) << row.name;
  }
}

TEST(jwt_key, A04_a_file_that_cannot_prove_a_token_is_refused_with_what_to_change) {
  const std::string rsa = rsa_signer().public_pem();
  expect_refused({
      {"empty", "", "", "is neither PEM nor a JWKS"},
      {"raw secret", "correct horse battery staple", "", "is neither PEM nor a JWKS"},
      {"private", rsa_signer().private_pem(), "", "holds a private key"},
      {"private behind public", rsa + rsa_signer().private_pem(), "", "holds a private key"},
      {"two blocks", rsa + ec_signer().public_pem(), "", "has more than one PEM block"},
      {"broken PEM", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "",
       "has a PEM block that is no public key"},
      {"broken certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "",
       "has a PEM block that is no public key"},
      {"another PEM", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "",
       "has a PEM block that is no public key"},
      {"HS256", rsa, "HS256", "is symmetric"},
      {"none", rsa, "none", "cannot be verified"},
      {"PS256", rsa, "PS256", "cannot be verified"},
      {"unknown", rsa, "rs256", "cannot be verified"},
      {"short RSA", signer::rsa(1024).public_pem(), "", "under 2048 bits"},
      {"RS256 with EC", ec_signer().public_pem(), "RS256", "makes no RS256 signatures"},
      {"ES256 with RSA", rsa, "ES256", "makes no ES256 signatures"},
      {"ES384 with P-256", ec_signer().public_pem(), "ES384", "makes no ES384 signatures"},
      {"another curve", signer::ec("secp256k1").public_pem(), "", "has a key of another kind"},
      {"too large", rsa + std::string(std::size_t{1} << 20U, '\n'), "", "larger than 1 MiB"},
  });
  const key_directory keys;
  EXPECT_NE(mistake_of(keys.path() / "none", "").find("cannot be read"), std::string::npos);
  EXPECT_NE(mistake_of(keys.path(), "").find("cannot be read"), std::string::npos);
}

TEST(jwt_key, A04_a_set_that_cannot_prove_a_token_is_refused_with_what_to_change) {
  const std::string secret = R"({"kty":"oct","k":"c2VjcmV0"})";
  const std::string tiny = R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"})";
  const std::string ones = to_base64url(std::string(32, '\1'));
  const std::string jwk = rsa_signer().jwk();
  const std::string powerless = jwk.substr(0, jwk.find(R"("e":)")) + R"("e":"AQ"})";
  expect_refused({
      {"private JWK", set_of(R"({"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB"})"), "",
       "holds a private key"},
      {"private JWK for another use", set_of(R"({"kty":"EC","use":"enc","d":"AQAB"})"), "",
       "holds a private key"},
      {"oct", set_of(secret), "", "holds a symmetric key"},
      {"oct beside RSA", set_of(jwk + "," + secret), "", "holds a symmetric key"},
      {"short RSA of a set", set_of(signer::rsa(1024).jwk()), "", "under 2048 bits"},
      {"exponent 1", set_of(powerless), "", "not valid"},
      {"RS256 with EC in a set", set_of(ec_signer().jwk(R"("alg":"RS256",)")), "",
       "makes no RS256 signatures"},
      {"no JSON", "{\"keys\":", "", "is no JWKS"},
      {"one JWK", jwk, "", "is no JWKS"},
      {"doubled keys", R"({"keys":[],"keys":[]})", "", "is no JWKS"},
      {"no keys", set_of(""), "", "has no key for RS or ES signatures"},
      {"not for signatures", set_of(rsa_signer().jwk(R"("use":"enc",)")), "", "has no key for"},
      {"only for encryption", set_of(rsa_signer().jwk(R"("key_ops":["encrypt"],)")), "",
       "has no key for"},
      {"only PS", set_of(rsa_signer().jwk(R"("alg":"PS256",)")), "", "has no key for"},
      {"only another algorithm", set_of(jwk), "ES256", "has no key for ES256 signatures"},
      {"only OKP", set_of(R"({"kty":"OKP","crv":"Ed25519","x":"AQ"})"), "", "has no key for"},
      {"key is text", set_of("\"a\""), "", "no JSON object"},
      {"kid is a number", set_of(rsa_signer().jwk(R"("kid":7,)")), "", "member 'kid'"},
      {"no modulus", set_of(R"({"kty":"RSA","e":"AQAB"})"), "", "member 'n'"},
      {"padded modulus", set_of(R"({"kty":"RSA","n":"AQ==","e":"AQAB"})"), "", "member 'n'"},
      {"short coordinate", set_of(tiny), "", "length of its curve"},
      {"off the curve",
       set_of(R"({"kty":"EC","crv":"P-256","x":")" + ones + R"(","y":")" + ones + "\"}"), "",
       "not valid"},
      {"no kid of two", set_of(jwk + "," + ec_signer().jwk(R"("kid":"a",)")), "", "without kid"},
      {"kid twice",
       set_of(rsa_signer().jwk(R"("kid":"a",)") + "," + other_rsa_signer().jwk(R"("kid":"a",)")),
       "", "two keys of one kid"},
  });
}

TEST(jwt_key, the_algorithm_follows_from_the_key_unless_it_is_named) {
  key_directory keys;
  const auto algorithm = [&](const std::string& text, const std::string& named = {}) {
    return read_jwt_keys(keys.write(text), named).at(0).algorithm;
  };
  EXPECT_EQ(algorithm(rsa_signer().public_pem()), "RS256");
  EXPECT_EQ(algorithm(rsa_signer().public_pem(), "RS512"), "RS512");
  EXPECT_EQ(algorithm("\n" + ec_signer().certificate_pem()), "ES256");
  EXPECT_EQ(algorithm(signer::ec("P-384").public_pem()), "ES384");
  EXPECT_EQ(algorithm(signer::ec("P-521").public_pem()), "ES512");
  EXPECT_EQ(algorithm(" \n" + set_of(rsa_signer().jwk(R"("alg":"RS384",)"))), "RS384");
  EXPECT_EQ(algorithm(set_of(rsa_signer().jwk(R"("key_ops":["verify"],)")), "RS384"), "RS384");
}

TEST(jwt_key, a_set_gives_its_signing_keys) {
  key_directory keys;
  const std::string set = set_of(rsa_signer().jwk(R"("kid":"a",)") + "," +
                                 ec_signer().jwk(R"("kid":"b","use":"sig",)") + "," +
                                 other_rsa_signer().jwk(R"("kid":"c","use":"enc",)") + "," +
                                 other_rsa_signer().jwk(R"("kid":"d","alg":"PS256",)") +
                                 R"(,{"kid":"e","kty":"EC","crv":"secp256k1","x":"","y":""})");
  const auto all = read_jwt_keys(keys.write(set), "");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "a");
  EXPECT_EQ(EVP_PKEY_is_a(all[0].key.get(), "RSA"), 1);
  EXPECT_EQ(all[1].id, "b");
  EXPECT_EQ(EVP_PKEY_is_a(all[1].key.get(), "EC"), 1);
  const auto picked = read_jwt_keys(keys.write(set), "ES256");
  ASSERT_EQ(picked.size(), 1U);
  EXPECT_EQ(picked[0].id, "b");
}

}  // namespace
}  // namespace callonce::gateway
