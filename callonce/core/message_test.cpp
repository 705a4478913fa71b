#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <callonce/core/message.hpp>

namespace callonce {
namespace {

using namespace std::string_literals;

TEST(HeaderList, KeepsOrderAndRepeatedLines) {
  header_list headers;
  headers.add("X-A", "1");
  headers.add("Link", "<a>");
  headers.add("x-a", "2");
  std::vector<std::string> seen;
  for (const field& line : headers) seen.push_back(line.name + "=" + line.value);
  EXPECT_EQ(seen, (std::vector<std::string>{"X-A=1", "Link=<a>", "x-a=2"}));
  EXPECT_EQ(headers.size(), 3U);
}

TEST(HeaderList, P21FindsNamesWithoutCase) {
  header_list headers;
  headers.add("iDEMPOTENCY-kEY", "k");
  headers.add("Idempotency-Key", "l");
  ASSERT_NE(headers.find("idempotency-key"), nullptr);
  EXPECT_EQ(*headers.find("idempotency-key"), "k");
  EXPECT_EQ(headers.count("IDEMPOTENCY-KEY"), 2U);
  EXPECT_EQ(headers.find("Idempotency"), nullptr);
  EXPECT_EQ(headers.count("Idempotency-Keys"), 0U);
}

TEST(HeaderList, SetReplacesAllLinesAndRemoveTakesAll) {
  header_list headers;
  headers.add("A", "1");
  headers.add("B", "2");
  headers.add("a", "3");
  headers.set("A", "4");
  EXPECT_EQ(headers.count("a"), 1U);
  EXPECT_EQ(*headers.find("a"), "4");
  headers.remove("b");
  EXPECT_EQ(headers.size(), 1U);
  headers.keep_if([](const field& line) { return line.value != "4"; });
  EXPECT_TRUE(headers.empty());
}

TEST(HeaderList, EqualityIsExact) {
  header_list one;
  header_list two;
  one.add("A", "1");
  two.add("a", "1");
  EXPECT_NE(one, two);
  two = one;
  EXPECT_EQ(one, two);
}

std::vector<std::string> tokens(std::string_view list) {
  std::vector<std::string> found;
  for_each_token(list, [&](std::string_view token) { found.emplace_back(token); });
  return found;
}

TEST(Tokens, AreTrimmedAndEmptyOnesSkipped) {
  EXPECT_EQ(tokens(" close ,\tX-Foo,, ,keep-alive"),
            (std::vector<std::string>{"close", "X-Foo", "keep-alive"}));
  EXPECT_TRUE(tokens("").empty());
  EXPECT_TRUE(tokens(" , \t,").empty());
}

TEST(MediaType, EssenceHasNoParametersBlanksOrCase) {
  EXPECT_EQ(media_type_essence("Application/JSON ; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type_essence(";q=1"), "");
}

TEST(BodyBytes, HoldAnyBytes) {
  const body_bytes body{"a\0b\xff"s};
  EXPECT_EQ(body.size(), 4U);
  EXPECT_EQ(body.text(), "a\0b\xff"s);
  EXPECT_TRUE(body_bytes{}.empty());
  EXPECT_EQ(body_bytes{""s}, body_bytes{});
}

TEST(BodyBytes, CopiesShareTheOwnerAndOutliveTheOriginal) {
  auto owner = std::make_shared<const std::string>("mapped");
  const std::weak_ptr<const std::string> watch = owner;
  auto original =
      std::make_unique<body_bytes>(owner, std::as_bytes(std::span{owner->data(), owner->size()}));
  owner.reset();
  body_bytes copy = *original;
  original.reset();
  EXPECT_EQ(copy.text(), "mapped");
  copy = body_bytes{};
  EXPECT_TRUE(watch.expired());
}

TEST(BodyBytes, MovedMessagesKeepTheirBytes) {
  request asked{"POST", "/e", {}, "short"s};
  const request moved = std::move(asked);
  EXPECT_EQ(moved.body_text(), "short");
  response answer{201, "text/plain", "tiny"s};
  answer.header("A", "1").header("B", "2");
  const response kept = std::move(answer);
  EXPECT_EQ(kept.body_text(), "tiny");
  EXPECT_EQ(*kept.headers().find("content-type"), "text/plain");
  EXPECT_EQ(kept.headers().size(), 3U);
}

TEST(Request, IsFromAStrangerUntilSaidOtherwise) {
  request asked{"POST", "/e"};
  EXPECT_FALSE(asked.from_trusted_hop());
  EXPECT_TRUE(asked.from_trusted_hop(true).from_trusted_hop());
}

}  // namespace
}  // namespace callonce
