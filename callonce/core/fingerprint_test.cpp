#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include <callonce/core/fingerprint.hpp>

namespace callonce {
namespace {

using namespace std::string_literals;

header_list lines(std::initializer_list<field> wanted) {
  header_list made;
  for (const field& line : wanted) made.add(line.name, line.value);
  return made;
}

request post(std::string target, std::string body, header_list headers = {}) {
  return request{"POST", std::move(target), std::move(headers), std::move(body)};
}

fingerprint of(const request& asked) {
  return fingerprint_of(asked, fingerprint_rule{}).value();
}

const header_list json = lines({{"Content-Type", "application/json"}});

TEST(Fingerprint, EqualRequestsAreEqual) {
  EXPECT_EQ(of(post("/e", R"({"a":1})", json)), of(post("/e", R"({"a":1})", json)));
  EXPECT_EQ(of(post("/e", "")), of(post("/e", ""))) << "F-18";
}

TEST(Fingerprint, DifferentRequestsDiffer) {
  const fingerprint plain = of(post("/e?a=1", R"({"a":1})", json));
  EXPECT_NE(plain, of(post("/e?a=1", R"({"a":2})", json))) << "F-01";
  EXPECT_NE(plain, of(post("/f?a=1", R"({"a":1})", json))) << "F-05";
  EXPECT_NE(plain, of(post("/e?a=2", R"({"a":1})", json))) << "F-06, C32";
  EXPECT_NE(plain, of(post("/e", R"({"a":1})", json))) << "F-06, without a query";
  EXPECT_NE(plain, of(request{"PATCH", "/e?a=1", json, R"({"a":1})"s})) << "F-07, C39";
  EXPECT_NE(plain, of(post("/e?a=1", R"({"a": 1})", json))) << "F-08, raw";
  EXPECT_NE(plain, of(post("/e?a=1", R"({"a":1})", lines({{"Content-Type", "text/plain"}}))));
  EXPECT_NE(plain, of(post("/e?a=1", R"({"a":1})")));
  EXPECT_NE(of(post("/e", R"({"a":1,"b":2})", json)), of(post("/e", R"({"b":2,"a":1})", json)))
      << "F-09, raw";
  EXPECT_NE(of(post("/e", "")), of(post("/e", "\0"s))) << "C34, C65";
}

TEST(Fingerprint, F10ContentCodingCounts) {
  header_list coded = json;
  coded.add("Content-Encoding", "gzip");
  EXPECT_NE(of(post("/e", "x", json)), of(post("/e", "x", coded)));
}

TEST(Fingerprint, F11OnlyTheEssenceOfTheMediaTypeCounts) {
  for (const char* spelled : {"application/json; charset=utf-8", "Application/JSON",
                              "application/json ;charset=x", " application/json"}) {
    EXPECT_EQ(of(post("/e", "{}", json)), of(post("/e", "{}", lines({{"Content-Type", spelled}}))))
        << spelled;
  }
}

TEST(Fingerprint, F13FieldsThatDifferBetweenHonestAttemptsDoNotCount) {
  const fingerprint plain = of(post("/e", "{}", json));
  for (const char* name :
       {"User-Agent", "traceparent", "Authorization", "Cookie", "Accept", "Accept-Encoding", "Date",
        "X-Request-Id", "Content-Length", "Transfer-Encoding", "Idempotency-Key", "Host"}) {
    header_list more = json;
    more.add(name, "x");
    EXPECT_EQ(plain, of(post("/e", "{}", more))) << name << " (C38, F-12)";
  }
}

TEST(Fingerprint, F14PartsDoNotFlowIntoEachOther) {
  EXPECT_NE(of(post("/e", "x")), of(post("/ex", "")));
  EXPECT_NE(of(request{"POST", "/e"}), of(request{"POST/", "e"}));
  EXPECT_NE(of(post("/e", "", lines({{"Content-Type", "a"}}))), of(post("/ea", "")));
  EXPECT_NE(of(post("/e", "", lines({{"If-Match", "a"}}))),
            of(post("/e", "", lines({{"If-None-Match", "a"}}))));
}

TEST(Fingerprint, PreconditionsCount) {
  for (const char* name : {"If-Match", "If-None-Match", "If-Unmodified-Since"}) {
    const auto with = [&](std::initializer_list<const char*> values) {
      header_list made;
      for (const char* value : values) made.add(name, value);
      return of(post("/e", "{}", made));
    };
    EXPECT_NE(with({}), with({"\"a\""})) << name;
    EXPECT_NE(with({}), with({""})) << name;
    EXPECT_NE(with({"\"a\""}), with({"\"b\""})) << name;
    EXPECT_NE(with({"\"a\"", "\"b\""}), with({"\"a\"", "\"c\""})) << name << ", second line";
    EXPECT_EQ(with({"\"a\"", "\"b\""}), with({"\"a\", \"b\""})) << name << ", folded";
  }
}

TEST(Fingerprint, F16UnknownRulesAreSaidToBeUnknown) {
  for (const char* text : {"", "raw2", "fields", "gzip", "gzip ", "raw x", "zip raw"}) {
    EXPECT_FALSE(fingerprint_of(post("/e", ""), fingerprint_rule::from_text(text)).has_value())
        << text;
  }
  EXPECT_EQ(of(post("/e", "")).rule, fingerprint_rule{});
}

// Live records outlive a release: this value may only change together with the rule's number (C36).
// Computed apart, with sha256 over the length-prefixed parts.
TEST(Fingerprint, C36TheRuleStaysWhatItIs) {
  const fingerprint made = of(
      request{"POST", "/v1/charges?x=1",
              lines({{"Content-Type", "application/json; charset=utf-8"}, {"If-Match", "\"v1\""}}),
              R"({"amount":100})"s});
  EXPECT_EQ(to_hex(made.value), "352dc476d26575a885b9cbf6ab337623315f338ae5772867e637303c4434756a");
}

}  // namespace
}  // namespace callonce
