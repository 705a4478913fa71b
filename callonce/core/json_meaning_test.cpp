#include "callonce/core/json_meaning.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace callonce::detail {
namespace {

using namespace std::string_literals;

TEST(JsonMeaning, C30F08F09EqualMeaningsAreEqual) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"a":1,"b":2})", R"({ "b" : 2, "a" : 1 })"},
      {R"({"a":{"x":1,"y":[1,2]}})", R"({"a":{"y":[1, 2],"x":1}})"},
      {"1", "1.0"},
      {"1", "10e-1"},
      {"100", "1E2"},
      {"0", "-0"},
      {"0", "0.000"},
      {"0.1", "1e-1"},
      {"12345678901234567890123", "12345678901234567890123.0"},
      {"1.50", "15e-1"},
      {R"("a")", R"("\u0061")"},
      {R"("\u00e9")", "\"\xc3\xa9\""},
      {R"("\ud83d\ude00")", "\"\xf0\x9f\x98\x80\""},
      {R"("a\/b")", R"("a/b")"},
      {"[1,2]", " [ 1 , 2 ] \r\n"},
      {R"({})", "{ }"},
  };
  for (const auto& [left, right] : rows) {
    ASSERT_TRUE(json_meaning(left)) << left;
    EXPECT_EQ(json_meaning(left), json_meaning(right)) << left << " and " << right;
  }
}

TEST(JsonMeaning, C30OtherMeaningsDiffer) {
  const std::pair<const char*, const char*> rows[] = {
      {"12345678901234567890123", "12345678901234567890124"},
      {"1", "1.00000000000000000001"},
      {"1", "-1"},
      {"1", "\"1\""},
      {"1e2", "1e3"},
      {"9007199254740993", "9007199254740992"},
      {R"({"a":null})", "{}"},
      {R"({"a":null})", R"({"a":0})"},
      {"[1,2]", "[2,1]"},
      {"[1,[2]]", "[[1],2]"},
      {"[[],1]", "[[1]]"},
      {"true", "false"},
      {R"({"a":1})", R"({"A":1})"},
      {R"({"a":"b"})", R"({"b":"a"})"},
      {R"(["ab"])", R"(["a","b"])"},
      {R"("\u00e9")", R"("e\u0301")"},
      {"\"n\"", "null"},
      {"[12]", "[1,2]"},
  };
  for (const auto& [left, right] : rows) {
    ASSERT_TRUE(json_meaning(left) && json_meaning(right)) << left << " and " << right;
    EXPECT_NE(json_meaning(left), json_meaning(right)) << left << " and " << right;
  }
}

TEST(JsonMeaning, WhatHasNoOneMeaningHasNone) {
  const std::string rows[] = {
      "",
      " ",
      "{",
      "{\"a\":1",
      "1 2",
      "{} x",
      "nul",
      "01",
      "1.",
      ".5",
      "NaN",
      "[1,]",
      "{'a':1}",
      "/*c*/1",
      "\"\xff\"",
      "\"a\tb\"",
      R"({"a":1,"a":1})",
      R"({"a":1,"\u0061":2})",
      R"([{"x":{"b":1,"c":2,"b":3}}])",
      "1e123456789012345678",
      "1e2147483648",
      "0e9999999999",
      std::string(65, '[') + std::string(65, ']'),
      std::string(json_bytes_max, '['),
      std::string(json_bytes_max + 1, ' '),
      "\"a\0b\""s,
  };
  for (const std::string& each : rows) {
    EXPECT_FALSE(json_meaning(each)) << each.substr(0, 40);
  }
}

std::string deep(std::size_t levels) {
  std::string made;
  for (std::size_t i = 0; i < levels; ++i) made += "{\"a\":";
  return made;
}

TEST(JsonMeaning, AHostileTextCostsNothing) {
  EXPECT_FALSE(json_meaning(deep(100000)));
  std::string wide = "[";
  while (wide.size() + 3 < json_bytes_max) wide += "1,";
  EXPECT_TRUE(json_meaning(wide + "1]"));
}

TEST(JsonMeaning, F15ChosenFieldsCountAlone) {
  const std::vector<std::string> fields{"params.amount", "method"};
  const auto of = [&](const char* text) { return json_meaning(text, fields); };
  const auto first = of(R"({"id":1,"method":"pay","params":{"amount":1.0,"note":"x"}})");
  ASSERT_TRUE(first);
  EXPECT_EQ(first, of(R"({"id":2,"params":{"note":"y","amount":1},"method":"pay"})"));
  EXPECT_NE(first, of(R"({"id":1,"method":"pay","params":{"amount":2}})"));
  EXPECT_NE(first, of(R"({"id":1,"method":"pay","params":{"amount":null}})"));
  EXPECT_NE(of(R"({"params":{"amount":null}})"), of(R"({"params":{}})"));
  EXPECT_NE(first, of(R"({"id":1,"method":"pay","params":[{"amount":1}]})"));
  EXPECT_NE(first, of(R"({"method":"pay","params.amount":1})"));
  const std::vector<std::string> reversed{"method", "params.amount"};
  EXPECT_EQ(first, json_meaning(R"({"method":"pay","params":{"amount":1}})", reversed));
  const std::vector<std::string> twice{"method", "params.amount", "method"};
  EXPECT_EQ(first, json_meaning(R"({"method":"pay","params":{"amount":1}})", twice));
  EXPECT_FALSE(of("[1]"));
  EXPECT_FALSE(of(R"({"method":"a","other":{"x":1,"x":2}})"));
}

// A random value, spelled in one of many ways.
class speller {
 public:
  speller(unsigned value_seed, unsigned spelling_seed, int changed)
      : values_(value_seed), spellings_(spelling_seed), changed_(changed) {}

  std::string value(int depth) {
    const auto kind = values_() % (depth > 3 ? 4 : 6);
    if (kind == 4) return array(depth);
    if (kind == 5) return object(depth);
    const bool change = leaves_++ == changed_;
    if (kind == 0) return values_() % 2 == (change ? 1U : 0U) ? "true" : "false";
    if (kind == 1) return number(values_() % 1000 + (change ? 1 : 0));
    if (kind == 2) return text(change);
    return change ? "0.5" : "null";
  }
  int leaves() const { return leaves_; }

 private:
  unsigned dice(unsigned sides) { return static_cast<unsigned>(spellings_() % sides); }
  std::string blank() { return std::string(dice(3), ' '); }
  std::string number(std::uint64_t n) {
    const std::string digits = std::to_string(n);
    const std::string spelled[] = {digits, digits + ".0", digits + "0e-1", digits + "E0"};
    return spelled[dice(4)];
  }
  std::string text(bool change) {
    std::string made = "\"";
    for (auto left = values_() % 5; left > 0; --left) {
      const char c = static_cast<char>('a' + static_cast<char>(values_() % 26));
      constexpr const char* hex = "0123456789abcdef";
      if (dice(3) == 0) {
        made.append("\\u00").append(1, hex[(c >> 4) & 15]).append(1, hex[c & 15]);
      } else {
        made += c;
      }
    }
    return made + (change ? "!\"" : "\"");
  }
  std::string array(int depth) {
    std::string made = "[";
    for (auto left = values_() % 4; left > 0; --left) {
      made += blank() + value(depth + 1) + (left > 1 ? "," : "");
    }
    return made + blank() + "]";
  }
  std::string object(int depth) {
    std::vector<std::string> members;
    for (auto at = values_() % 5; at > 0; --at) {
      members.push_back("\"m" + std::to_string(at) + "\":" + blank() + value(depth + 1));
    }
    std::shuffle(members.begin(), members.end(), spellings_);
    std::string made = "{";
    for (std::size_t i = 0; i < members.size(); ++i) {
      made += blank() + members[i] + (i + 1 < members.size() ? "," : "");
    }
    return made + "}";
  }

  std::mt19937_64 values_;
  std::mt19937_64 spellings_;
  int changed_;
  int leaves_ = 0;
};

TEST(JsonMeaning, C30RandomValuesAreTheSameHoweverSpelled) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (unsigned i = 0; i < 500; ++i) {
    speller once{seed + i, 1, -1};
    const std::string first = once.value(0);
    const std::string second = speller{seed + i, 2, -1}.value(0);
    ASSERT_TRUE(json_meaning(first)) << first;
    ASSERT_EQ(json_meaning(first), json_meaning(second)) << first << " and " << second;
    if (once.leaves() == 0) continue;
    const int leaf = static_cast<int>(i) % once.leaves();
    const std::string other = speller{seed + i, 1, leaf}.value(0);
    ASSERT_NE(json_meaning(first), json_meaning(other)) << first << " and " << other;
  }
}

}  // namespace
}  // namespace callonce::detail
