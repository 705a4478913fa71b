#include <atomic>
#include <thread>
#include <vector>

#include <gateway/jwt.hpp>
#include <gateway/jwt_test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

using maybe = std::optional<std::string>;

std::string at(int seconds_from_now) {
  return std::to_string(wall_clock::start + seconds_from_now);
}

std::string payload(const std::string& members, int expires_in = 300) {
  return R"({"exp":)" + at(expires_in) + "," + members + "}";
}

const std::string alice = R"("sub":"alice")";

class jwt : public testing::Test {
 protected:
  maybe subject(const jwt_settings& settings, const std::string& token) const {
    return jwt_verifier{settings, clock}.claim_of(token, "sub");
  }
  jwt_settings with(const std::string& key_text, const std::string& algorithm = {}) {
    return {keys.write(key_text), algorithm, {}, {}};
  }
  // What the claims of a token give that is signed well.
  maybe claim(const std::string& claims, std::string_view name = "sub") {
    return jwt_verifier{with(ec_signer().public_pem()), clock}.claim_of(
        ec_signer().token("ES256", claims), name);
  }

  wall_clock clock;
  key_directory keys;
};

TEST_F(jwt, every_algorithm_is_verified_under_pem_certificate_and_jwks) {
  const signer p384 = signer::ec("P-384");
  const signer p521 = signer::ec("P-521");
  const struct {
    const char* algorithm;
    const signer& by;
  } rows[] = {{"RS256", rsa_signer()}, {"RS384", rsa_signer()}, {"RS512", rsa_signer()},
              {"ES256", ec_signer()},  {"ES384", p384},         {"ES512", p521}};
  for (const auto& row : rows) {
    for (int round = 0; round < 8; ++round) {  // EC signatures differ, and so do their lengths.
      const std::string token = row.by.token(row.algorithm, payload(alice));
      const std::string set = R"({"keys":[)" + row.by.jwk() + "]}";
      EXPECT_EQ(subject(with(row.by.public_pem(), row.algorithm), token), "alice") << row.algorithm;
      EXPECT_EQ(subject(with(row.by.certificate_pem(), row.algorithm), token), "alice")
          << row.algorithm;
      EXPECT_EQ(subject(with(set, row.algorithm), token), "alice") << row.algorithm;
    }
  }
  EXPECT_EQ(subject(with(rsa_signer().public_pem()), rsa_signer().token("RS256", payload(alice))),
            "alice");
  EXPECT_EQ(subject(with(p521.public_pem()), p521.token("ES512", payload(alice))), "alice");
}

TEST_F(jwt, A04_only_the_pinned_algorithm_of_the_pinned_key_proves_anything) {
  const std::string pem = rsa_signer().public_pem();
  const std::string body = to_base64url(payload(alice));
  const std::string none = to_base64url(R"({"alg":"none"})") + "." + body + ".";
  const std::string confused = to_base64url(R"({"alg":"HS256","typ":"JWT"})") + "." + body;
  const std::string hmac = confused + "." + to_base64url(hmac_sha256(pem, confused));
  const std::string good = rsa_signer().token("RS256", payload(alice));
  const std::string signature = good.substr(good.rfind('.'));
  const std::string tampered = good.substr(0, good.find('.')) + "." +
                               to_base64url(payload(R"("sub":"mallory")")) + signature;

  EXPECT_EQ(subject(with(pem), good), "alice");
  const struct {
    const char* name;
    std::string token;
  } rows[] = {
      {"another key", other_rsa_signer().token("RS256", payload(alice))},
      {"none", none},
      {"none with a signature", none + signature.substr(1)},
      {"HS256 with the PEM text as secret", hmac},
      {"another algorithm of the key", rsa_signer().token("RS512", payload(alice))},
      {"PSS", rsa_signer().token("PS256", payload(alice))},
      {"PSS that says RS256", rsa_signer().token("PS256", R"({"alg":"RS256"})", payload(alice))},
      {"an EC token", ec_signer().token("ES256", payload(alice))},
      {"spelled otherwise", rsa_signer().token("RS256", R"({"alg":"rs256"})", payload(alice))},
      {"no algorithm", rsa_signer().token("RS256", R"({"typ":"JWT"})", payload(alice))},
      {"doubled algorithm",
       rsa_signer().token("RS256", R"({"alg":"none","alg":"RS256"})", payload(alice))},
      {"an extension", rsa_signer().token("RS256", R"({"alg":"RS256","crit":["b64"],"b64":false})",
                                          payload(alice))},
      {"tampered payload", tampered},
      {"no signature", good.substr(0, good.rfind('.') + 1)},
  };
  for (const auto& row : rows) EXPECT_EQ(subject(with(pem), row.token), std::nullopt) << row.name;
  EXPECT_EQ(subject(with(ec_signer().public_pem()), good), std::nullopt);
  const signer p384 = signer::ec("P-384");
  EXPECT_EQ(subject(with(ec_signer().public_pem()),
                    p384.token("ES256", R"({"alg":"ES256"})", payload(alice))),
            std::nullopt);
}

// RFC 9068 section 2.1; a token of another type was made for another end.
TEST_F(jwt, a_type_is_absent_or_that_of_an_access_token) {
  const auto typed = [](const char* member) {
    return ec_signer().token("ES256", R"({"alg":"ES256")" + std::string{member} + "}",
                             payload(alice));
  };
  const jwt_settings settings = with(ec_signer().public_pem());
  EXPECT_EQ(subject(settings, typed("")), "alice");
  EXPECT_EQ(subject(settings, typed(R"(,"typ":"JWT")")), "alice");
  EXPECT_EQ(subject(settings, typed(R"(,"typ":"at+jwt")")), "alice");
  EXPECT_EQ(subject(settings, typed(R"(,"typ":"application/at+jwt")")), "alice");
  EXPECT_EQ(subject(settings, typed(R"(,"typ":"dpop+jwt")")), std::nullopt);
  EXPECT_EQ(subject(settings, typed(R"(,"typ":7)")), std::nullopt);
}

TEST_F(jwt, what_is_no_token_proves_nothing) {
  const std::string good = ec_signer().token("ES256", payload(alice));
  const std::string head = good.substr(0, good.find('.'));
  const std::string two = good.substr(0, good.rfind('.'));
  const std::string large = payload(R"("sub":"alice","more":")" + std::string(13000, 'x') + "\"");
  for (const std::string& text : {std::string{},
                                  std::string{"."},
                                  std::string{".."},
                                  std::string{"..."},
                                  std::string{"x"},
                                  std::string{"garbage.garbage.garbage"},
                                  head,
                                  two,
                                  two + ".",
                                  "." + two,
                                  good + ".",
                                  good + "=",
                                  good + "\n",
                                  " " + good,
                                  good + "A",
                                  "Bearer " + good,
                                  good + std::string(1, 0),
                                  good.substr(0, good.size() - 4),
                                  two + ".." + good,
                                  "bnVsbA." + good.substr(head.size() + 1),
                                  ec_signer().token("ES256", "[]"),
                                  ec_signer().token("ES256", ""),
                                  ec_signer().token("ES256", payload(alice) + "x"),
                                  ec_signer().token("ES256", large)}) {
    EXPECT_EQ(subject(with(ec_signer().public_pem()), text), std::nullopt) << text;
  }
  EXPECT_EQ(claim(payload(R"("sub":"alice","more":")" + std::string(9000, 'x') + "\"")), "alice");
}

TEST_F(jwt, A04_a_token_counts_from_nbf_to_exp_with_a_minute_of_leeway) {
  EXPECT_EQ(claim(payload(alice, 1)), "alice");
  EXPECT_EQ(claim(payload(alice, -59)), "alice");
  EXPECT_EQ(claim(payload(alice, -60)), std::nullopt);
  EXPECT_EQ(claim(payload(R"("nbf":)" + at(60) + "," + alice)), "alice");
  EXPECT_EQ(claim(payload(R"("nbf":)" + at(61) + "," + alice)), std::nullopt);
  EXPECT_EQ(claim(payload(R"("nbf":")" + at(0) + "\"," + alice)), std::nullopt);
  EXPECT_EQ(claim("{" + alice + "}"), std::nullopt);
  EXPECT_EQ(claim(R"({"exp":")" + at(300) + "\"," + alice + "}"), std::nullopt);
  EXPECT_EQ(claim(R"({"exp":null,)" + alice + "}"), std::nullopt);
  EXPECT_EQ(claim(R"({"exp":)" + at(300) + ".5," + alice + "}"), "alice");

  const jwt_verifier verifier{with(ec_signer().public_pem()), clock};
  const std::string token = ec_signer().token("ES256", payload(alice));
  EXPECT_EQ(verifier.claim_of(token, "sub"), "alice");
  clock.pass(359s);
  EXPECT_EQ(verifier.claim_of(token, "sub"), "alice");
  clock.pass(1s);
  EXPECT_EQ(verifier.claim_of(token, "sub"), std::nullopt);
}

TEST_F(jwt, A04_issuer_and_audience_are_compared_where_they_are_configured) {
  jwt_settings settings = with(ec_signer().public_pem());
  settings.issuer = "https://issuer.example";
  settings.audience = "orders";
  const std::string iss = R"("iss":"https://issuer.example",)";
  const std::string aud = R"("aud":"orders",)";
  const struct {
    std::string members;
    maybe expected;
  } rows[] = {
      {iss + aud, "alice"},
      {iss + R"("aud":["billing","orders"],)", "alice"},
      {iss + R"("aud":["orders"],)", "alice"},
      {iss + R"("aud":[],)", std::nullopt},
      {iss + R"("aud":["billing",["orders"],{"a":"orders"},7],)", std::nullopt},
      {iss + R"("aud":"order",)", std::nullopt},
      {iss + R"("aud":7,)", std::nullopt},
      {iss, std::nullopt},
      {aud, std::nullopt},
      {R"("iss":"https://issuer.example/",)" + aud, std::nullopt},
      {R"("iss":["https://issuer.example"],)" + aud, std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& row : rows) {
    const std::string token = ec_signer().token("ES256", payload(row.members + alice));
    EXPECT_EQ(subject(settings, token), row.expected) << row.members;
    EXPECT_EQ(claim(payload(row.members + alice)), "alice") << row.members;
  }
}

TEST_F(jwt, C105_only_text_and_integers_tell_callers_apart) {
  const struct {
    const char* value;
    maybe expected;
  } rows[] = {
      {R"("alice")", "alice"},
      {R"("a\u00e9\"\\ b")", "a\u00e9\"\\ b"},
      {"42", "42"},
      {"-7", "-7"},
      {"0", "0"},
      {"9223372036854775807", "9223372036854775807"},
      {"99999999999999999999", std::nullopt},
      {R"("")", std::nullopt},
      {"null", std::nullopt},
      {"true", std::nullopt},
      {"1.0", std::nullopt},
      {"1e3", std::nullopt},
      {R"(["alice"])", std::nullopt},
      {R"({"name":"alice"})", std::nullopt},
      {R"("a","sub":"b")", std::nullopt},
      {R"("a","s\u0075b":"a")", std::nullopt},
      {R"("alice","iat":1,"iat":2)", std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(claim(payload(R"("sub":)" + std::string{row.value})), row.expected) << row.value;
  }
  EXPECT_EQ(claim(payload(R"("name":"alice")")), std::nullopt);
  EXPECT_EQ(claim(payload(R"("Sub":"alice")")), std::nullopt);
}

TEST_F(jwt, C105_the_name_of_a_claim_is_one_member_whatever_it_contains) {
  const std::string both = R"("https://example.com/tenant":"a","x":{"y":"b"},"x.y":"c","/x/y":"d")";
  EXPECT_EQ(claim(payload(both), "https://example.com/tenant"), "a");
  EXPECT_EQ(claim(payload(both), "x.y"), "c");
  EXPECT_EQ(claim(payload(both), "/x/y"), "d");
  EXPECT_EQ(claim(payload(both), "x"), std::nullopt);
}

TEST_F(jwt, A04_kid_picks_the_key_of_a_set) {
  const auto named = [](const char* kid, const signer& by, std::string_view algorithm) {
    return by.token(algorithm,
                    R"({"alg":")" + std::string{algorithm} + R"(","kid":")" + kid + "\"}",
                    payload(alice));
  };
  const jwt_settings several = with(R"({"keys":[)" + rsa_signer().jwk(R"("kid":"a","use":"sig",)") +
                                    "," + other_rsa_signer().jwk(R"("kid":"b","alg":"RS384",)") +
                                    "," + ec_signer().jwk(R"("kid":"c",)") + "," +
                                    other_rsa_signer().jwk(R"("kid":"d","use":"enc",)") + "]}");
  EXPECT_EQ(subject(several, named("a", rsa_signer(), "RS256")), "alice");
  EXPECT_EQ(subject(several, named("b", other_rsa_signer(), "RS384")), "alice");
  EXPECT_EQ(subject(several, named("c", ec_signer(), "ES256")), "alice");
  EXPECT_EQ(subject(several, named("b", other_rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(several, named("a", other_rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(several, named("d", other_rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(several, named("e", rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(several, named("", rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(several, rsa_signer().token("RS256", payload(alice))), std::nullopt);

  const jwt_settings one = with(R"({"keys":[)" + rsa_signer().jwk(R"("kid":"a",)") + "]}");
  EXPECT_EQ(subject(one, named("a", rsa_signer(), "RS256")), "alice");
  EXPECT_EQ(subject(one, named("b", rsa_signer(), "RS256")), std::nullopt);
  EXPECT_EQ(subject(one, rsa_signer().token("RS256", payload(alice))), "alice");
  EXPECT_EQ(subject(with(rsa_signer().public_pem()), named("any", rsa_signer(), "RS256")), "alice");
}

TEST_F(jwt, many_threads_ask_at_once) {
  const jwt_verifier verifier{with(ec_signer().public_pem()), clock};
  const std::string good = ec_signer().token("ES256", payload(alice));
  const std::string bad = ec_signer().token("ES256", payload(alice, -600));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int each = 0; each < 4; ++each) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        if (verifier.claim_of(good, "sub") != "alice") ++wrong;
        if (verifier.claim_of(bad, "sub")) ++wrong;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace callonce::gateway
