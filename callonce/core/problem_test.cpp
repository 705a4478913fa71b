#include <chrono>
#include <set>
#include <string>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <callonce/core/problem.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

boost::json::object members(const response& answer) {
  const auto text = answer.body_text();
  return boost::json::parse({text.data(), text.size()}).as_object();
}

std::string text(const boost::json::object& from, const char* name) {
  return std::string{from.at(name).as_string()};
}

struct row {
  problem_code code;
  const char* token;
  int status;
  bool retryable;
};

// Design section 5; where it is silent about `retryable`, semantics 1.8.
const row rows[] = {
    {problem_code::key_missing, "idempotency_key_missing", 400, false},
    {problem_code::key_invalid, "idempotency_key_invalid", 400, false},
    {problem_code::key_reused, "idempotency_key_reused", 422, false},
    {problem_code::in_progress, "idempotency_key_in_progress", 409, true},
    {problem_code::key_expired, "idempotency_key_expired", 412, false},
    {problem_code::response_unavailable, "idempotency_response_unavailable", 409, false},
    {problem_code::outcome_unknown, "idempotency_outcome_unknown", 409, false},
    {problem_code::claim_lost, "idempotency_claim_lost", 409, true},
    {problem_code::scope_missing, "idempotency_scope_missing", 401, false},
    {problem_code::scope_unusable, "idempotency_scope_unusable", 503, false},
    {problem_code::body_too_large, "body_too_large", 413, false},
    {problem_code::early_data, "early_data", 425, true},
    {problem_code::store_unavailable, "idempotency_store_unavailable", 503, true},
    {problem_code::upstream_unreachable, "upstream_unreachable", 502, true},
    {problem_code::upstream_timeout, "upstream_timeout", 504, true},
    {problem_code::upstream_broken, "upstream_broken", 502, true},
    {problem_code::bad_request, "bad_request", 400, false},
    {problem_code::headers_too_large, "headers_too_large", 431, false},
    {problem_code::request_timeout, "request_timeout", 408, true},
    {problem_code::overloaded, "overloaded", 503, true},
    {problem_code::draining, "draining", 503, true},
    {problem_code::internal_error, "internal_error", 500, true},
};

TEST(Problem, EachCodeAsTheTableSays) {
  std::set<std::string> titles;
  for (const row& expected : rows) {
    SCOPED_TRACE(expected.token);
    EXPECT_EQ(to_string(expected.code), expected.token);
    EXPECT_EQ(default_status(expected.code), expected.status);
    EXPECT_EQ(is_retryable(expected.code), expected.retryable);

    const response answer = to_response(expected.code);
    EXPECT_EQ(answer.status(), expected.status);
    EXPECT_EQ(*answer.headers().find("Content-Type"), "application/problem+json");
    EXPECT_EQ(*answer.headers().find("Cache-Control"), "no-store");
    EXPECT_EQ(answer.headers().count("Retry-After"), expected.retryable ? 1U : 0U);
    EXPECT_EQ(answer.headers().count("WWW-Authenticate"), expected.status == 401 ? 1U : 0U);

    const boost::json::object body = members(answer);
    EXPECT_EQ(text(body, "type"), std::string{"urn:callonce:problem:"} + expected.token);
    EXPECT_EQ(text(body, "code"), expected.token);
    EXPECT_EQ(body.at("status").as_int64(), expected.status);
    EXPECT_EQ(body.at("retryable").as_bool(), expected.retryable);
    EXPECT_TRUE(titles.insert(text(body, "title")).second) << "one title per type";
    EXPECT_EQ(body.size(), 5U) << "members that do not apply are left out";
  }
}

TEST(Problem, MembersAndHeadersThatApply) {
  problem what{problem_code::response_unavailable};
  what.record_id = "0123456789abcdef";
  what.original_status = 201;
  what.location = "/v1/charges/1";
  what.resource = "charge 1";
  const boost::json::object body = members(to_response(what));
  EXPECT_EQ(text(body, "record"), "0123456789abcdef");
  EXPECT_EQ(body.at("original_status").as_int64(), 201);
  EXPECT_EQ(text(body, "location"), "/v1/charges/1");
  EXPECT_EQ(text(body, "resource"), "charge 1");

  problem reused{problem_code::key_reused};
  reused.original_state = "in_progress";
  EXPECT_EQ(text(members(to_response(reused)), "original_state"), "in_progress");
  problem invalid{problem_code::key_invalid};
  invalid.reason = "too_long";
  EXPECT_EQ(text(members(to_response(invalid)), "reason"), "too_long");
}

TEST(Problem, RetryAfterIsAWholeNumberOfSeconds) {
  problem what{problem_code::in_progress};
  what.retry_after = 17s;
  EXPECT_EQ(*to_response(what).headers().find("Retry-After"), "17");
  EXPECT_EQ(*to_response(problem_code::draining).headers().find("Retry-After"), "1");

  problem not_retryable{problem_code::key_reused};
  not_retryable.retry_after = 17s;
  EXPECT_EQ(to_response(not_retryable).headers().find("Retry-After"), nullptr);
}

TEST(Problem, ARouteMayChooseAnotherStatusOrTypeBase) {
  problem what{problem_code::in_progress};
  what.status = 425;
  const response answer =
      to_response(what, problem_form{error_format::problem, "https://api.example/problems/"});
  EXPECT_EQ(answer.status(), 425);
  const boost::json::object body = members(answer);
  EXPECT_EQ(body.at("status").as_int64(), 425);
  EXPECT_EQ(text(body, "type"), "https://api.example/problems/idempotency_key_in_progress");

  problem other_header{problem_code::scope_missing};
  other_header.status = 400;
  EXPECT_EQ(to_response(other_header).headers().find("WWW-Authenticate"), nullptr);
}

// What came from an application or a client never breaks out of its member.
TEST(Problem, P25MembersAreEscaped) {
  std::string nasty = "\"\\</script>\r\n";
  for (char c = 0; c < 0x20; ++c) nasty += c;
  nasty += '\x7f';
  problem what{problem_code::response_unavailable};
  what.resource = nasty;
  what.reason = nasty;
  const response answer = to_response(what);
  for (const char c : answer.body_text()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_EQ(text(members(answer), "resource"), nasty);
  EXPECT_EQ(text(members(answer), "reason"), nasty);
}

TEST(Problem, BytesThatAreNoUtf8StillMakeValidJson) {
  problem what{problem_code::response_unavailable};
  what.location = "/caf\xe9/\xc3\xa9";
  EXPECT_EQ(text(members(to_response(what)), "location"), "/caf%e9/%c3%a9");
}

TEST(Problem, PS02TheStripeFormIsAnErrorObject) {
  problem what{problem_code::key_reused};
  what.status = 400;
  what.record_id = "0123456789abcdef";
  const response said = to_response(what, problem_form{error_format::stripe});
  EXPECT_EQ(said.status(), 400);
  EXPECT_EQ(*said.headers().find("Content-Type"), "application/json");
  const boost::json::object error = members(said).at("error").as_object();
  EXPECT_EQ(text(error, "type"), "idempotency_error");
  EXPECT_EQ(text(error, "code"), "idempotency_key_reused");
  EXPECT_EQ(text(error, "record"), "0123456789abcdef");
  EXPECT_FALSE(text(error, "message").empty());
  EXPECT_EQ(said.made_for(), problem_code::key_reused);
}

TEST(Problem, PA01TheAcpFormIsFlatAndHasItsOwnCodes) {
  const auto code = [](problem_code of) {
    return text(members(to_response(of, problem_form{error_format::acp})), "code");
  };
  EXPECT_EQ(code(problem_code::key_missing), "idempotency_key_required");
  EXPECT_EQ(code(problem_code::key_reused), "idempotency_conflict");
  EXPECT_EQ(code(problem_code::in_progress), "idempotency_in_flight");
  const response said = to_response(problem_code::in_progress, problem_form{error_format::acp});
  EXPECT_EQ(text(members(said), "type"), "invalid_request");
  EXPECT_NE(said.headers().find("Retry-After"), nullptr);
}

}  // namespace
}  // namespace callonce
