#include <set>

#include <gateway/forwarded.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using lines = std::vector<std::pair<std::string, std::string>>;

request head_with(const lines& of) {
  header_list headers;
  for (const auto& [name, value] : of) headers.add(name, value);
  return request{"POST", "/", std::move(headers)};
}

lines prepared(const lines& of, bool trusted = false, std::string_view peer = "192.0.2.7") {
  request head = head_with(of);
  head.from_trusted_hop(trusted);
  prepare_for_application(head, peer, "made-1");
  lines found;
  for (const field& line : head.headers()) found.emplace_back(line.name, line.value);
  return found;
}

const lines added{{"Via", "1.1 callonce"},
                  {"X-Forwarded-For", "192.0.2.7"},
                  {"X-Forwarded-Proto", "http"},
                  {"X-Forwarded-Host", "shop.example"},
                  {"X-Request-Id", "made-1"}};

lines with_added(lines first) {
  first.insert(first.end(), added.begin(), added.end());
  return first;
}

TEST(ForwardedRequest, G11PassesEndToEndLinesInOrderAndSaysWhoSentThem) {
  const lines sent{{"Host", "shop.example"},      {"X-A", "1"},
                   {"Idempotency-Key", "\"k\""},  {"x-a", "2"},
                   {"Authorization", "Bearer x"}, {"traceparent", "00-1-2-01"}};
  EXPECT_EQ(prepared(sent), with_added(sent));
}

TEST(ForwardedRequest, LinesOfTheConnectionEndHere) {
  EXPECT_EQ(prepared({{"Host", "shop.example"},
                      {"Connection", "close, x-hop"},
                      {"X-Hop", "1"},
                      {"connection", "Other"},
                      {"other", "1"},
                      {"Keep-Alive", "timeout=5"},
                      {"Proxy-Connection", "keep-alive"},
                      {"Proxy-Authorization", "Basic x"},
                      {"TE", "gzip"},
                      {"Trailer", "X-T"},
                      {"Transfer-Encoding", "chunked"},
                      {"Upgrade", "websocket"},
                      {"Expect", "100-continue"}}),
            with_added({{"Host", "shop.example"}}));
}

// D-50, R-17: the wish for trailers is this hop's own again.
TEST(ForwardedRequest, R17TrailersAreAskedForWhereTheClientDoes) {
  EXPECT_EQ(prepared({{"Host", "shop.example"}, {"TE", "gzip, Trailers"}, {"Connection", "TE"}}),
            with_added({{"Host", "shop.example"}, {"TE", "trailers"}}));
}

// A-06, D-69: they are the gateway's own word to the application.
TEST(ForwardedRequest, A06NobodyElseSpeaksAsTheGateway) {
  EXPECT_EQ(prepared({{"Host", "shop.example"},
                      {"Idempotency-Claim", "x"},
                      {"idempotency-attempt", "7"},
                      {"IDEMPOTENCY-OUTCOME", "final"},
                      {"Idempotency-Recover", "x"}}),
            with_added({{"Host", "shop.example"}}));
}

TEST(ForwardedRequest, WhatHopsSaidIsAppendedToAndBelievedFromTrustedOnesOnly) {
  const lines sent{{"Host", "shop.example"},
                   {"X-Forwarded-For", "203.0.113.5"},
                   {"X-Forwarded-For", "198.51.100.1, 10.0.0.1"},
                   {"X-Forwarded-Proto", "https"},
                   {"X-Forwarded-Host", "public.example"},
                   {"Via", "1.1 edge"}};
  EXPECT_EQ(prepared(sent, true),
            (lines{{"Host", "shop.example"},
                   {"X-Forwarded-Proto", "https"},
                   {"X-Forwarded-Host", "public.example"},
                   {"Via", "1.1 edge"},
                   {"Via", "1.1 callonce"},
                   {"X-Forwarded-For", "203.0.113.5, 198.51.100.1, 10.0.0.1, 192.0.2.7"},
                   {"X-Request-Id", "made-1"}}));
  EXPECT_EQ(prepared(sent, false),
            (lines{{"Host", "shop.example"},
                   {"Via", "1.1 edge"},
                   {"Via", "1.1 callonce"},
                   {"X-Forwarded-For", "203.0.113.5, 198.51.100.1, 10.0.0.1, 192.0.2.7"},
                   {"X-Forwarded-Proto", "http"},
                   {"X-Forwarded-Host", "shop.example"},
                   {"X-Request-Id", "made-1"}}));
}

TEST(ForwardedRequest, OneRequestIdReachesTheApplication) {
  const lines one = prepared({{"Host", "h"}, {"x-request-id", "theirs"}});
  EXPECT_EQ(one[1], (std::pair<std::string, std::string>{"x-request-id", "theirs"}));
  const lines two = prepared({{"Host", "h"}, {"X-Request-Id", "a"}, {"X-Request-Id", "b"}});
  EXPECT_EQ(two.back(), (std::pair<std::string, std::string>{"X-Request-Id", "made-1"}));
  EXPECT_EQ(std::count_if(two.begin(), two.end(),
                          [](const auto& line) { return line.first == "X-Request-Id"; }),
            1);
}

TEST(RequestIds, AreTheClientsOrNewAndNeverTheSame) {
  request_ids ids{system_environment()};
  request_ids others{system_environment()};
  EXPECT_EQ(request_id_of(head_with({{"X-Request-Id", "theirs"}}), ids), "theirs");
  std::set<std::string> made;
  for (int each = 0; each < 1000; ++each) {
    made.insert(request_id_of(head_with({{"X-Request-Id", ""}}), ids));
    made.insert(others.next());
  }
  EXPECT_EQ(made.size(), 2000U);
}

TEST(ForwardedAnswer, SaysItsHopAndItsRequest) {
  response own{200};
  mark_for_client(own, "made-1");
  header_list expected;
  expected.add("Via", "1.1 callonce");
  expected.add("X-Request-Id", "made-1");
  EXPECT_EQ(own.headers(), expected);

  response theirs{200};
  theirs.header("x-request-id", "theirs").header("Via", "1.1 app");
  mark_for_client(theirs, "made-1");
  EXPECT_EQ(theirs.headers().count("X-Request-Id"), 1U);
  EXPECT_EQ(*theirs.headers().find("X-Request-Id"), "theirs");
  EXPECT_EQ(theirs.headers().count("Via"), 2U);
}

}  // namespace
}  // namespace callonce::gateway
