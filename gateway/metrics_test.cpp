#include <algorithm>

#include <gateway/metrics.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;
using kind = request_outcome::kind;

struct counted {
  metrics of{{"/v1/charges", "default"}, "0.1.0", [] {
               live_numbers now;
               now.runs = 3;
               now.connections = 7;
               return now;
             }};

  std::string value(const std::string& series) {
    const std::string all = "\n" + of.text();
    const std::size_t at = all.find("\n" + series + " ");
    if (at == std::string::npos) return "(absent)";
    const std::size_t from = at + series.size() + 2;
    return all.substr(from, all.find('\n', from) - from);
  }
};

// C113: what a route's clients do with keys can be seen.
TEST(metrics, requests_are_counted_by_route_and_outcome) {
  counted by;
  for (int i = 0; i < 100; ++i) by.of.count_request("/v1/charges", {kind::no_key}, 1ms);
  for (int i = 0; i < 10; ++i) {
    by.of.count_request("/v1/charges", {kind::problem, problem_code::key_invalid}, 1ms);
  }
  for (int i = 0; i < 5; ++i) by.of.count_request("/v1/charges", {kind::replayed}, 1ms);
  by.of.count_request("default", {kind::executed}, 20ms);
  EXPECT_EQ(by.value(R"(callonce_requests_total{outcome="no_key",route="/v1/charges"})"), "100");
  EXPECT_EQ(
      by.value(R"(callonce_requests_total{outcome="idempotency_key_invalid",route="/v1/charges"})"),
      "10");
  EXPECT_EQ(by.value(R"(callonce_requests_total{outcome="replayed",route="/v1/charges"})"), "5");
  EXPECT_EQ(by.value(R"(callonce_requests_total{outcome="executed",route="default"})"), "1");
  EXPECT_EQ(by.value(R"(callonce_request_seconds_count{route="/v1/charges"})"), "115");
  EXPECT_EQ(by.value(R"(callonce_request_seconds_bucket{route="default",le="0.01"})"), "0");
  EXPECT_EQ(by.value(R"(callonce_request_seconds_bucket{route="default",le="0.025"})"), "1");
}

TEST(metrics, facts_are_counted_by_what_they_mean) {
  counted by;
  fact what{fact_kind::claimed, "/v1/charges"};
  what.claim = claim_kind::takeover;
  by.of.on(what);
  by.of.on({fact_kind::completed, "/v1/charges"});
  by.of.on({fact_kind::co_committed, "/v1/charges"});
  by.of.on({fact_kind::lease_lost, "/v1/charges"});
  by.of.on({fact_kind::in_doubt, "/v1/charges"});
  by.of.on({fact_kind::unrecorded, "/v1/charges"});
  fact purged{fact_kind::purged, {}};
  purged.count = 40;
  by.of.on(purged);
  EXPECT_EQ(by.value(R"(callonce_claims_total{kind="takeover"})"), "1");
  EXPECT_EQ(by.value(R"(callonce_claims_total{kind="first"})"), "0");
  EXPECT_EQ(by.value(R"(callonce_completions_total{by="gateway"})"), "1");
  EXPECT_EQ(by.value(R"(callonce_completions_total{by="application"})"), "1");
  EXPECT_EQ(by.value("callonce_zombie_total"), "1");
  EXPECT_EQ(by.value("callonce_in_doubt_total"), "1");
  EXPECT_EQ(by.value("callonce_unrecorded_total"), "1");
  EXPECT_EQ(by.value("callonce_purged_total"), "40");
  EXPECT_EQ(by.value("callonce_runs"), "3");
  EXPECT_EQ(by.value("callonce_connections"), "7");
  EXPECT_EQ(by.value(R"(callonce_build_info{version="0.1.0"})"), "1");
}

TEST(metrics, store_operations_are_timed_by_name) {
  counted by;
  by.of.count_store("claim", 3ms);
  EXPECT_EQ(by.value(R"(callonce_store_seconds_count{operation="claim"})"), "1");
  EXPECT_EQ(by.value(R"(callonce_store_seconds_count{operation="complete"})"), "0");
}

// C114: no client makes a series.
TEST(metrics, the_number_of_series_does_not_grow_with_requests) {
  counted by;
  const auto lines = [&] {
    const std::string all = by.of.text();
    return std::count(all.begin(), all.end(), '\n');
  };
  const auto before = lines();
  for (int i = 0; i < 1000; ++i) {
    const std::string path = "/v1/orders/" + std::to_string(i);
    by.of.count_request(path, {kind::executed}, 1ms);
    by.of.on({fact_kind::completed, path});
  }
  EXPECT_EQ(lines(), before);
  EXPECT_LT(before, 500);
  EXPECT_LT(by.of.text().size(), 200'000U);
}

TEST(metrics, an_answer_shows_its_outcome) {
  EXPECT_EQ(outcome_of(response{201}).name(), "executed");
  EXPECT_EQ(outcome_of(response{201}.header("Idempotent-Replayed", "true")).name(), "replayed");
  for (const auto code : {problem_code::key_reused, problem_code::upstream_timeout,
                          problem_code::store_unavailable}) {
    EXPECT_EQ(outcome_of(to_response(problem{code})).name(), to_string(code));
  }
  const response foreign{409, "application/problem+json", std::string{"{\"code\":\"sold_out\"}"}};
  EXPECT_EQ(outcome_of(foreign).name(), "executed");
}

}  // namespace
}  // namespace callonce::gateway
