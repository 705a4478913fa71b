#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <callonce/core/policy.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using kind = judgement::kind;

policy route(const std::function<void(policy_settings&)>& change = {}) {
  policy_settings settings;
  settings.scope = scope_from_header("X-Api-Key");
  if (change) change(settings);
  return policy{settings};
}

// 2026-12-01 12:00 UTC.
constexpr wall_time noon{std::chrono::seconds{1796126400}};

request asking(std::string method, std::initializer_list<field> lines) {
  header_list headers;
  for (const field& line : lines) headers.add(line.name, line.value);
  return request{std::move(method), "/e", std::move(headers)};
}

// What admit says: `pass`, `admitted`, or status, code and reason.
std::string admission(const policy& by, const request& head) {
  const auto found = admit(by, head, noon);
  if (std::holds_alternative<pass_through>(found)) return "pass";
  if (std::holds_alternative<identity>(found)) return "admitted";
  const auto& refused = std::get<problem>(found);
  std::string said = std::to_string(to_response(refused).status()) + " ";
  said += to_string(refused.code);
  return refused.reason.empty() ? said : said + " " + refused.reason;
}

const field api_key{"X-Api-Key", "t1"};
const field good_key{"Idempotency-Key", "\"k\""};
const field bad_key{"Idempotency-Key", "\"k"};
const field early{"Early-Data", "1"};

TEST(Admit, WhatNeedsNoRecordPassesThrough) {
  const auto required = route([](policy_settings& is) { is.key = key_demand::required; });
  const auto off = route([](policy_settings& is) { is.key = key_demand::off; });
  EXPECT_EQ(admission(route(), asking("POST", {})), "pass") << "P-02";
  EXPECT_EQ(admission(route(), asking("POST", {early})), "pass");
  EXPECT_EQ(admission(off, asking("POST", {bad_key, early})), "pass") << "P-03, C62";
  for (const char* method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "post"}) {
    EXPECT_EQ(admission(required, asking(method, {bad_key})), "pass") << method;
  }
}

TEST(Admit, RefusalsInTheOrderOfDesignSection5) {
  const auto required = route([](policy_settings& is) { is.key = key_demand::required; });
  EXPECT_EQ(admission(required, asking("POST", {early})), "400 idempotency_key_missing") << "P-01";
  EXPECT_EQ(admission(required, asking("POST", {bad_key, early})), "425 early_data") << "A-11";
  EXPECT_EQ(admission(required, asking("POST", {bad_key})), "400 idempotency_scope_missing");
  EXPECT_EQ(admission(required, asking("POST", {bad_key, api_key})),
            "400 idempotency_key_invalid malformed");
  EXPECT_EQ(admission(required, asking("PATCH", {good_key, api_key})), "admitted");
}

TEST(Admit, A02ScopeFaults) {
  const auto by = [](const char* rule) {
    return route([&](policy_settings& is) { is.scope = scope_rule{rule}; });
  };
  EXPECT_EQ(admission(by("header:Authorization"), asking("POST", {good_key})),
            "401 idempotency_scope_missing");
  EXPECT_EQ(admission(by("cookie:sid"), asking("POST", {good_key})),
            "401 idempotency_scope_missing");
  EXPECT_EQ(admission(by("trusted:X-Tenant"), asking("POST", {good_key, {"X-Tenant", "t"}})),
            "401 idempotency_scope_missing");
  EXPECT_EQ(admission(route(), asking("POST", {good_key})), "400 idempotency_scope_missing");
  EXPECT_EQ(admission(route(), asking("POST", {good_key, api_key, api_key})),
            "400 idempotency_scope_missing repeated");
  EXPECT_EQ(admission(by("header:Authorization"),
                      asking("POST", {good_key, {"Authorization", "Bearer eyJh.eyJz.c2ln"}})),
            "503 idempotency_scope_unusable");
}

TEST(Admit, KeyFaults) {
  const auto strict = route([](policy_settings& is) { is.key_syntax = key_syntax::strict; });
  const auto with = [](const char* value) {
    return asking("POST", {api_key, {"Idempotency-Key", value}});
  };
  EXPECT_EQ(admission(route(), asking("POST", {api_key, good_key, {"idempotency-key", "\"l\""}})),
            "400 idempotency_key_invalid repeated")
      << "P-14";
  EXPECT_EQ(admission(route(), asking("POST", {api_key, good_key, good_key})),
            "400 idempotency_key_invalid repeated")
      << "P-15";
  EXPECT_EQ(admission(route(), with("")), "400 idempotency_key_invalid empty") << "P-17, C58";
  EXPECT_EQ(admission(route(), with(std::string(256, 'k').c_str())),
            "400 idempotency_key_invalid too_long")
      << "P-18";
  EXPECT_EQ(admission(route(), with("u")), "admitted") << "P-10";
  EXPECT_EQ(admission(strict, with("u")), "400 idempotency_key_invalid malformed") << "P-11";
}

// RFC 8470 section 5.1: invalid or doubled fields mean the same as one `1`.
TEST(Admit, A11EarlyDataHoweverItIsSpelled) {
  EXPECT_EQ(admission(route(), asking("POST", {api_key, good_key, early, early})),
            "425 early_data");
  EXPECT_EQ(admission(route(), asking("POST", {api_key, good_key, {"early-data", "yes"}})),
            "425 early_data");
}

TEST(Admit, TheIdentityIsScopeAndKey) {
  const auto of = [](const char* tenant, const char* value) {
    return std::get<identity>(
        admit(route(), asking("POST", {{"X-Api-Key", tenant}, {"Idempotency-Key", value}}), noon));
  };
  EXPECT_EQ(of("t1", "\"u\""), of("t1", "u")) << "P-12";
  EXPECT_NE(of("t1", "u"), of("t2", "u")) << "A-01";
  EXPECT_NE(of("t1", "u"), of("t1", "U")) << "P-23";
  EXPECT_EQ(of("t1", "u").record_id().size(), 16U);
}

kind verdict(const policy& by, int status, std::initializer_list<field> lines = {},
             std::string body = {}) {
  header_list headers;
  for (const field& line : lines) headers.add(line.name, line.value);
  return judge(by, response{status, std::move(headers), std::move(body)}).verdict;
}

// Design section 5, "What freezes", for every status there can be: S-01 to S-06.
TEST(Judge, EveryStatus) {
  const std::initializer_list<int> released_4xx{401, 403, 406, 407, 408, 421,
                                                423, 425, 428, 429, 431};
  const auto parking = route([](policy_settings& is) { is.park_on_lapse = true; });
  for (int status = 200; status < 600; ++status) {
    const bool released = std::count(released_4xx.begin(), released_4xx.end(), status) > 0;
    const kind expected = released || status >= 500 ? kind::release : kind::complete;
    EXPECT_EQ(verdict(route(), status), expected) << status;
    EXPECT_EQ(verdict(parking, status), status >= 500 ? kind::park : expected) << status;
  }
}

TEST(Judge, C97An409ThatSaysComeAgainIsReleased) {
  const field problem_type{"Content-Type", "application/problem+json; charset=utf-8"};
  EXPECT_EQ(verdict(route(), 409, {{"retry-after", "1"}}), kind::release);
  EXPECT_EQ(verdict(route(), 409, {problem_type}, R"({"retryable":true})"), kind::release);
  EXPECT_EQ(verdict(route(), 409, {{"Content-Type", "Application/Problem+JSON ; x=y"}},
                    R"({"retryable":true})"),
            kind::release);
  EXPECT_EQ(verdict(route(), 409, {problem_type}, R"({"retryable":false})"), kind::complete);
  EXPECT_EQ(verdict(route(), 409, {problem_type}, R"({"retryable":"true"})"), kind::complete);
  EXPECT_EQ(verdict(route(), 409, {problem_type}, R"({"retryable":tru)"), kind::complete);
  EXPECT_EQ(verdict(route(), 409, {problem_type}, "[true]"), kind::complete);
  EXPECT_EQ(verdict(route(), 409, {{"Content-Type", "application/json"}}, R"({"retryable":true})"),
            kind::complete);
  EXPECT_EQ(verdict(route(), 422, {{"Retry-After", "1"}}), kind::complete) << "only 409";
  EXPECT_EQ(verdict(route(), 402, {problem_type}, R"({"retryable":true})"), kind::complete);
}

TEST(Judge, S10ARouteDecidesByStatusOrClass) {
  const auto by = route([](policy_settings& is) {
    is.outcome = {{429, outcome_rule::complete},
                  {422, outcome_rule::release},
                  {5, outcome_rule::keep},
                  {503, outcome_rule::release},
                  {500, outcome_rule::complete}};
  });
  EXPECT_EQ(verdict(by, 429), kind::complete);
  EXPECT_EQ(verdict(by, 422), kind::release);
  EXPECT_EQ(verdict(by, 502), kind::keep) << "the class";
  EXPECT_EQ(verdict(by, 503), kind::release) << "the status wins over its class";
  EXPECT_EQ(verdict(by, 500), kind::complete);
  EXPECT_EQ(verdict(by, 404), kind::complete) << "untouched";
}

TEST(Judge, S11S12TheApplicationHasTheLastWord) {
  const auto contrary = route([](policy_settings& is) {
    is.park_on_lapse = true;
    is.outcome = {{2, outcome_rule::release}, {5, outcome_rule::keep}};
  });
  for (const int status : {200, 409, 429, 500, 503}) {
    for (const policy& by : {route(), contrary}) {
      EXPECT_EQ(verdict(by, status, {{"Idempotency-Outcome", "final"}}), kind::complete);
      EXPECT_EQ(verdict(by, status, {{"Idempotency-Outcome", "retryable"}}), kind::release);
      EXPECT_EQ(verdict(by, status, {{"idempotency-outcome", "unknown"}}), kind::park);
      EXPECT_EQ(verdict(by, status, {{"Idempotency-Outcome", "perhaps"}}), verdict(by, status))
          << "an unknown word says nothing";
    }
  }
}

TEST(Judge, UnderParkAKeptAnswerParks) {
  const auto by = route([](policy_settings& is) {
    is.park_on_lapse = true;
    is.outcome = {{404, outcome_rule::keep}, {500, outcome_rule::complete}};
  });
  EXPECT_EQ(verdict(by, 404), kind::park);
  EXPECT_EQ(verdict(by, 500), kind::complete) << "the route said final";
  EXPECT_EQ(verdict(by, 429), kind::release) << "nothing happened";
}

TEST(Judge, C49StrangersRecordsGoAfterAMinute) {
  const auto kept = [](const policy& by, int status) {
    return judge(by, response{status}).released_retention;
  };
  for (const int status : {401, 403, 407, 429}) EXPECT_EQ(kept(route(), status), 1min) << status;
  for (const int status : {406, 408, 421, 423, 425, 428, 431, 500, 503}) {
    EXPECT_EQ(kept(route(), status), 1h) << status;
  }
  const auto brief = route([](policy_settings& is) { is.released_retention = 5s; });
  EXPECT_EQ(kept(brief, 401), 5s) << "never longer than the route's own";
}

TEST(Judge, AReceived502Or504IsUncertainUntilSomebodyDecided) {
  const auto uncertain = [](const policy& by, int status, const char* said = nullptr) {
    response received{status};
    if (said != nullptr) received.header("Idempotency-Outcome", said);
    return says_nothing_certain(by, received);
  };
  const auto decided = route([](policy_settings& is) { is.outcome = {{502, outcome_rule::keep}}; });
  for (int status = 200; status < 600; ++status) {
    EXPECT_EQ(uncertain(route(), status), status == 502 || status == 504) << status;
  }
  EXPECT_FALSE(uncertain(decided, 502));
  EXPECT_TRUE(uncertain(decided, 504));
  EXPECT_FALSE(uncertain(route(), 504, "final"));
  EXPECT_FALSE(uncertain(route(), 502, "retryable"));
  EXPECT_FALSE(uncertain(route(), 502, "unknown"));
  EXPECT_TRUE(uncertain(route(), 502, "perhaps")) << "an unknown word decides nothing";
}

TEST(Policy, ChecksWhatCannotWork) {
  EXPECT_NO_THROW(route().check());
  const std::function<void(policy_settings&)> wrong[] = {
      [](policy_settings& is) { is.scope.reset(); },  // A-10
      [](policy_settings& is) { is.lease = 1999ms; },
      [](policy_settings& is) { is.timeout = 0ms; },
      [](policy_settings& is) { is.wait = -1ms; },
      [](policy_settings& is) { is.retention = 0ms; },
      [](policy_settings& is) { is.key_retention = is.retention - 1ms; },  // I15
      [](policy_settings& is) { is.released_retention = 0ms; },
      [](policy_settings& is) { is.on_mismatch = 418; },
      [](policy_settings& is) { is.on_in_progress = 422; },
  };
  for (std::size_t at = 0; at < std::size(wrong); ++at) {
    EXPECT_THROW(route(wrong[at]).check(), std::invalid_argument) << "row " << at;
  }
}

TEST(Policy, DefaultsAreThoseOfTheContract) {
  const policy_settings is;
  EXPECT_EQ(is.methods, (std::vector<std::string>{"POST", "PATCH"}));
  EXPECT_EQ(is.key, key_demand::optional);
  EXPECT_EQ(is.lease, 60s);
  EXPECT_EQ(is.timeout, 50s);
  EXPECT_EQ(is.detached_max, 5min);
  EXPECT_EQ(is.wait, 0s);
  EXPECT_EQ(is.readback, 500ms);
  EXPECT_EQ(is.retention, 24h);
  EXPECT_EQ(is.key_retention, 7 * 24h);
  EXPECT_EQ(is.released_retention, 1h);
  EXPECT_EQ(is.request_body_max, 64U << 20);
  EXPECT_EQ(is.response_body_max, 1U << 20);
}

TEST(Policy, TheClaimCarriesWhatOthersJudgeBy) {
  policy by = route([](policy_settings& is) { is.response_body_max = 7; });
  by.name("charges").lease(10s).retention(2h, 3h).park_on_lapse();
  const claim_terms expected{10s, 2h, 3h, 7, true, "charges"};
  EXPECT_EQ(by.terms(), expected);
  EXPECT_LT(by.settings().timeout, 10s) << "the answer comes within the lease";
}

}  // namespace
}  // namespace callonce
