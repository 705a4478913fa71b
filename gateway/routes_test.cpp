#include <gateway/routes.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

route_table table(const std::vector<std::string>& patterns) {
  route_table made;
  for (std::size_t i = 0; i < patterns.size(); ++i) made.add(patterns[i], i);
  return made;
}

TEST(routes, the_most_specific_pattern_wins_segment_by_segment) {
  const route_table routes = table({"/*", "/v1/*", "/v1/charges", "/v1/{kind}", "/v1/charges/{id}",
                                    "/v1/charges/{id}/capture", "/v1/{kind}/7/*"});
  EXPECT_EQ(routes.match("/other"), 0U);
  EXPECT_EQ(routes.match("/v1"), 0U);
  EXPECT_EQ(routes.match("/v1/"), 1U);
  EXPECT_EQ(routes.match("/v1/charges"), 2U);
  EXPECT_EQ(routes.match("/v1/refunds"), 3U);
  EXPECT_EQ(routes.match("/v1/charges/7"), 4U);
  EXPECT_EQ(routes.match("/v1/charges/7/capture"), 5U);
  EXPECT_EQ(routes.match("/v1/refunds/7/x/y"), 6U);
  EXPECT_EQ(routes.match("/v1/refunds/8/x"), 1U);
}

TEST(routes, a_dead_end_falls_back_to_the_next_specific_one) {
  const route_table routes = table({"/a/b/c", "/a/{x}/d", "/a/*"});
  EXPECT_EQ(routes.match("/a/b/c"), 0U);
  EXPECT_EQ(routes.match("/a/b/d"), 1U);
  EXPECT_EQ(routes.match("/a/b/e"), 2U);
}

TEST(routes, the_query_does_not_choose) {
  const route_table routes = table({"/v1/charges"});
  EXPECT_EQ(routes.match("/v1/charges?expand=/x"), 0U);
  EXPECT_EQ(routes.match("/v1/charges#f"), 0U);
}

TEST(routes, paths_match_byte_for_byte) {
  const route_table routes = table({"/v1/charges", "/v1/charges/{id}"});
  for (const char* path : {"/v1/Charges", "/v1/charges/", "//v1/charges", "/v1//charges",
                           "/v1/charges/7/", "*", "", "v1/charges"}) {
    EXPECT_EQ(routes.match(path), route_table::none) << path;
  }
}

TEST(routes, the_root_is_a_path) {
  const route_table routes = table({"/"});
  EXPECT_EQ(routes.match("/"), 0U);
  EXPECT_EQ(routes.match("/?a=b"), 0U);
  EXPECT_EQ(routes.match("/a"), route_table::none);
}

TEST(routes, an_empty_table_matches_nothing) {
  EXPECT_EQ(table({}).match("/"), route_table::none);
}

TEST(routes, patterns_are_checked) {
  for (const char* right : {"/", "/a", "/a/{b}/c", "/*", "/a/*", "/a/%7Bb%7D", "/a//b"}) {
    EXPECT_EQ(pattern_mistake(right), "") << right;
  }
  for (const char* wrong :
       {"", "a", "/a b", "/a?b", "/a/*/b", "/a/b*", "/{}", "/a{b}", "/{a}b", "/{a"}) {
    EXPECT_NE(pattern_mistake(wrong), "") << wrong;
  }
}

TEST(routes, patterns_that_differ_in_names_only_have_one_shape) {
  EXPECT_EQ(shape_of("/a/{b}/c"), shape_of("/a/{x}/c"));
  EXPECT_NE(shape_of("/a/{b}"), shape_of("/a/*"));
  EXPECT_NE(shape_of("/a/{b}"), shape_of("/a/b"));
}

}  // namespace
}  // namespace callonce::gateway
