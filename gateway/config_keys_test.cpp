// The keys that say whose key it is, what it stands for, and which contract a route speaks.
#include <gateway/config.hpp>
#include <gateway/reload.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

loaded_configuration load(const std::string& text) {
  return load_text(text, "c.toml", "/etc/callonce");
}

std::string with(const std::string& more) {
  return "upstream = \"http://a\"\n[scope]\nfrom = \"header:X-Api-Key\"\n" + more;
}

struct wrong_key {
  const char* name;
  std::string text;
  std::string begins;
  std::string advises;
};

class wrong_keys : public testing::TestWithParam<wrong_key> {};

TEST_P(wrong_keys, are_one_line_that_says_where_what_and_what_to_do) {
  const auto read = load(GetParam().text);
  ASSERT_EQ(read.mistakes.size(), 1U) << testing::PrintToString(read.mistakes);
  EXPECT_TRUE(read.mistakes.front().starts_with(GetParam().begins)) << read.mistakes.front();
  EXPECT_NE(read.mistakes.front().find(GetParam().advises), std::string::npos)
      << read.mistakes.front();
}

const std::vector<wrong_key> rows{
    {"profile", with("[defaults]\nprofile = \"paypal\"\n"),
     "c.toml:5: defaults.profile: \"paypal\" is not taken", "ietf | stripe | acp"},
    {"key_header_with_a_meaning", with("[defaults]\nkey_header = \"Authorization\"\n"),
     "c.toml:5: defaults.key_header: Authorization", "another field"},
    {"key_header_no_name", with("[defaults]\nkey_header = \"My Key\"\n"),
     "c.toml:5: defaults.key_header: \"My Key\"", "no header name"},
    {"key_format", with("[defaults]\nkey_format = \"guid\"\n"),
     "c.toml:5: defaults.key_format: \"guid\" is not taken", "uuidv7"},
    {"key_time", with("[defaults]\nkey_time = true\n"), "c.toml:5: defaults.key_time: true",
     "first-sent"},
    {"key_time_of_another_format",
     with("[defaults]\nkey_format = \"ulid\"\nkey_time = \"uuidv7\"\n"),
     "c.toml:6: defaults: key_time", "same format"},
    {"skew_eats_retention",
     with("[defaults]\nkey_time = \"ulid\"\nretention = \"8m\"\nkey_retention = \"9m\"\n"),
     "c.toml:5: defaults: key_skew 5m leaves nothing of key_retention 9m", "raise"},
    {"body_without_route", with("[defaults]\nfingerprint = \"json-body\"\n"),
     "c.toml:5: defaults: fingerprint", "key_per = \"route\""},
    {"strange_fingerprint", with("[defaults]\nfingerprint = \"yaml\"\n"),
     "c.toml:5: defaults.fingerprint: \"yaml\" is not taken", "json-body"},
    {"no_fields", with("[defaults]\nfingerprint = []\n"),
     "c.toml:5: defaults.fingerprint: the list is empty", "raw"},
    {"strange_field", with("[defaults]\nfingerprint = [\"a..b\"]\n"),
     "c.toml:5: defaults.fingerprint: \"a..b\" is no field", "params.name"},
    {"decode", with("[defaults]\ndecode = \"br\"\n"), "c.toml:5: defaults.decode: \"br\"",
     "off | gzip"},
    {"auth_path", with("[defaults]\nauth_check = \"http://a/x\"\n"),
     "c.toml:5: defaults.auth_check: ", "is no path"},
    {"auth_path_with_dots", with("[defaults]\nauth_check = \"/a/../b\"\n"),
     "c.toml:5: defaults.auth_check: ", "is no path"},
    {"max_attempts", with("[defaults]\nmax_attempts = -1\n"), "c.toml:5: defaults.max_attempts: -1",
     "0 to 1000"},
    {"store_down", with("[defaults]\nstore_down = \"ignore\"\n"),
     "c.toml:5: defaults.store_down: \"ignore\"", "fail_closed | fail_open"},
    {"open_atomic", with("[defaults]\nstore_down = \"fail_open\"\nclass = \"atomic\"\n"),
     "c.toml:5: defaults: store_down: class atomic", "fail_closed"},
    {"error_format", with("[defaults]\nerror_format = \"xml\"\n"),
     "c.toml:5: defaults.error_format: \"xml\"", "problem | stripe | acp"},
    {"any_origin", "cors_origins = [\"*\"]\n" + with(""), "c.toml:1: cors_origins: \"*\"",
     "list the pages"},
    {"origin_with_path", "cors_origins = [\"https://a.example/\"]\n" + with(""),
     "c.toml:1: cors_origins: ", "https://shop.example"},
    {"jwt_without_key", "upstream = \"http://a\"\n[scope]\nfrom = \"jwt:sub\"\n",
     "c.toml:3: scope.jwt_key: is missing", "PEM or JWKS"},
    {"jwt_key_absent",
     "upstream = \"http://a\"\n[scope]\nfrom = \"jwt:sub\"\njwt_key = \"none.pem\"\n",
     "c.toml:4: scope.jwt_key: '/etc/callonce/none.pem' cannot be read", "public key"},
    {"jwt_without_claim", "upstream = \"http://a\"\n[scope]\nfrom = \"jwt:\"\n",
     "c.toml:3: scope.from: ", "behind the colon"},
    {"route_scope", with("[[route]]\npath = \"/a\"\nscope = \"ip\"\n"),
     "c.toml:6: route.scope: ", "header:NAME"},
    {"route_scope_without_hops", with("[[route]]\npath = \"/a\"\nscope = \"trusted:X-User\"\n"),
     "c.toml:6: route.scope: trusted:X-User", "proxies"},
};

INSTANTIATE_TEST_SUITE_P(config, wrong_keys, testing::ValuesIn(rows),
                         [](const auto& row) { return std::string{row.param.name}; });

policy_settings first_route(const std::string& text) {
  const auto read = load(text);
  EXPECT_TRUE(read.mistakes.empty()) << testing::PrintToString(read.mistakes);
  return read.value.routes.at(0).policy;
}

// Strongest first: the route's own key, its profile, the defaults' own key, their profile.
TEST(profiles, are_weaker_than_keys_of_their_own_place_and_stronger_than_keys_of_the_outer_one) {
  const auto mismatch = [](const std::string& defaults, const std::string& route) {
    return first_route(with("[[route]]\npath = \"/a\"\n" + route + "[defaults]\n" + defaults))
        .on_mismatch;
  };
  EXPECT_EQ(mismatch("", ""), 422);
  EXPECT_EQ(mismatch("profile = \"ucp\"\n", ""), 409);
  EXPECT_EQ(mismatch("on_mismatch = 422\nprofile = \"ucp\"\n", ""), 422);
  EXPECT_EQ(mismatch("on_mismatch = 422\n", "profile = \"ucp\"\n"), 409);
  EXPECT_EQ(mismatch("on_mismatch = 409\n", "on_mismatch = 400\nprofile = \"ucp\"\n"), 400);
}

TEST(profiles, know_where_each_value_comes_from) {
  const auto read = load(with("[[route]]\npath = \"/a\"\nprofile = \"acp\"\necho_key = false\n"));
  const route_settings& route = read.value.routes.at(0);
  EXPECT_EQ(route.origins.at("key").from, origin::source::profile);
  EXPECT_EQ(route.origins.at("key").line, 6U);
  EXPECT_EQ(route.origins.at("echo_key").from, origin::source::route);
  EXPECT_FALSE(route.policy.echo_key);
  EXPECT_EQ(route.policy.fingerprint.text(), "json-body");
}

TEST(scopes, of_a_route_take_the_place_of_the_general_one) {
  const auto read =
      load(with("[[route]]\npath = \"/a\"\nscope = [\"header:X-A\", \"cookie:b\"]\n"));
  EXPECT_EQ(read.value.routes.at(0).policy.scope->text(), "header:X-A + cookie:b");
  EXPECT_EQ(read.value.defaults.policy.scope->text(), "header:X-Api-Key");
}

TEST(identity, rules_name_what_makes_keys_different) {
  const auto rules = [](const std::string& more) { return identity_rules(load(with(more)).value); };
  EXPECT_EQ(rules(""), "header:X-Api-Key");
  EXPECT_EQ(rules("[[route]]\npath = \"/a\"\nkey = \"required\"\n"), rules(""));
  EXPECT_EQ(rules("[[route]]\npath = \"/a\"\nkey_per = \"route\"\n"),
            "header:X-Api-Key\n/a key_per=route");
  EXPECT_NE(rules("[[route]]\npath = \"/a\"\nscope = \"header:X\"\n"), rules(""));
}

TEST(config, a_server_may_be_asked_row_by_row) {
  const auto read = load(with("[store]\nurl = \"postgres://me@db/shop\"\nstatements = \"rows\"\n"));
  EXPECT_TRUE(read.mistakes.empty());
  EXPECT_TRUE(read.warnings.empty());
  EXPECT_TRUE(read.value.store.rows);
  EXPECT_EQ(load(with("[store]\nstatements = \"row\"\n")).mistakes.size(), 1U);
}

TEST(reload, takes_routes_and_refuses_what_needs_a_restart_or_new_keys) {
  const configuration now = load(with("[[route]]\npath = \"/a\"\n")).value;
  const auto refusals = [&](const std::string& text) {
    return reload_mistakes(now, load(text).value);
  };
  EXPECT_TRUE(
      refusals(with("[[route]]\npath = \"/b\"\nlease = \"9s\"\ntimeout = \"8s\"\n")).empty());
  EXPECT_EQ(refusals(with("[limits]\nconnections = 5\n")).size(), 1U);
  EXPECT_EQ(refusals("listen = \"127.0.0.1:9\"\n" + with("")).size(), 1U);
  EXPECT_EQ(refusals(with("[[route]]\npath = \"/a\"\nkey_per = \"route\"\n")).size(), 1U);
  EXPECT_NE(refusals(with("[store]\nurl = \"memory:\"\n")).at(0).find("restart"),
            std::string::npos);
}

}  // namespace
}  // namespace callonce::gateway
