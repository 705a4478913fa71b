#include <gtest/gtest.h>

#include <callonce/core/target.hpp>

namespace callonce {
namespace {

struct row {
  const char* given;
  const char* normal;  // null: refused
};

TEST(target, every_spelling_of_one_path_has_one_normal_form_G_12) {
  const row rows[] = {
      {"/v1/charges", "/v1/charges"},
      {"/", "/"},
      {"/?a=/../b", "/?a=/../b"},
      {"/v1/./charges", "/v1/charges"},
      {"/v1/x/../charges", "/v1/charges"},
      {"/v1/x/%2e%2E/charges", "/v1/charges"},
      {"/v1/%2e/charges", "/v1/charges"},
      {"/v1/%63harges", "/v1/charges"},
      {"/v1/%7Euser", "/v1/~user"},
      {"/a%2fb", "/a%2Fb"},
      {"/a%2e%2e%2fb", "/a..%2Fb"},
      {"/../../v1", "/v1"},
      {"/v1/..", "/"},
      {"/v1/.", "/v1/"},
      {"/v1/...", "/v1/..."},
      {"/v1/.hidden", "/v1/.hidden"},
      {"//v1//charges", "//v1//charges"},
      {"/v1//../charges", "/v1/charges"},
      {"/v1?q=%2e%zz", "/v1?q=%2e%zz"},
      {"/%2561", "/%2561"},
      {"/%252e%252e/x", "/%252e%252e/x"},
      {"http://shop.example/v1", "/v1"},
      {"HTTP://shop.example", "/"},
      {"https://shop.example:8443?x=1", "/?x=1"},
      {"/v1#top", nullptr},
      {"/v1/%zz", nullptr},
      {"/v1/%4", nullptr},
      {"/v1/%%32e", nullptr},
      {"ftp://shop.example/v1", nullptr},
      {"http://user@shop.example/v1", nullptr},
      {"http:///v1", nullptr},
      {"shop.example:443", nullptr},
      {"v1/charges", nullptr},
      {"", nullptr},
      {"*", nullptr},
  };
  for (const row& each : rows) {
    const auto found = normalise_target("POST", each.given);
    ASSERT_EQ(found.has_value(), each.normal != nullptr) << each.given;
    if (found) {
      EXPECT_EQ(found->target, each.normal) << each.given;
    }
  }
}

TEST(target, a_normal_form_is_its_own_normal_form_G_12) {
  for (const char* given : {"/a/%2e%2e/b%2f?c", "/..//x/.", "http://h/%41/./", "/%25%32%65"}) {
    const auto once = normalise_target("POST", given);
    ASSERT_TRUE(once) << given;
    EXPECT_EQ(normalise_target("POST", once->target)->target, once->target) << given;
  }
}

TEST(target, an_absolute_form_names_the_host) {
  EXPECT_EQ(normalise_target("POST", "http://shop.example:81/v1")->authority, "shop.example:81");
  EXPECT_EQ(normalise_target("POST", "/v1")->authority, "");
}

TEST(target, the_server_itself_is_asked_by_OPTIONS_alone) {
  EXPECT_EQ(normalise_target("OPTIONS", "*")->target, "*");
  EXPECT_FALSE(normalise_target("CONNECT", "shop.example:443"));
}

}  // namespace
}  // namespace callonce
