#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <callonce/core/policy.hpp>
#include <callonce/core/replay.hpp>

namespace callonce {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t cap = 1024;
const std::vector<std::string> default_drop = policy_settings{}.replay_headers_drop;

header_list lines(std::initializer_list<field> wanted) {
  header_list made;
  for (const field& line : wanted) made.add(line.name, line.value);
  return made;
}

stored_answer frozen(const response& answer) {
  return freeze(answer, default_drop, cap);
}

TEST(Replay, R01StatusHeadersAndBodyComeBackAndAreMarked) {
  const response first{201, lines({{"Location", "/c/1"}, {"Content-Type", "application/json"}}),
                       R"({"id":1})"s};
  const response again = thaw(frozen(first), true);
  EXPECT_EQ(again.status(), 201);
  EXPECT_EQ(again.body_text(), first.body_text());
  EXPECT_EQ(*again.headers().find("Location"), "/c/1");
  EXPECT_EQ(*again.headers().find("Content-Type"), "application/json");
  EXPECT_EQ(*again.headers().find("Idempotent-Replayed"), "true");
  EXPECT_EQ(thaw(frozen(first), false).headers().find("Idempotent-Replayed"), nullptr);
}

TEST(Replay, R02R03EmptyAndBinaryBodies) {
  const response none = thaw(frozen(response{204}), true);
  EXPECT_EQ(none.status(), 204);
  EXPECT_TRUE(none.content().empty());
  EXPECT_EQ(none.headers().find("Content-Type"), nullptr);

  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  EXPECT_EQ(thaw(frozen(response{200, header_list{}, bytes}), true).body_text(), bytes);
}

TEST(Replay, R07RepeatedLinesKeepCountOrderAndValues) {
  const header_list sent = lines({{"Link", "<a>"}, {"X-A", "1"}, {"link", "<b>"}, {"X-A", "2"}});
  EXPECT_EQ(thaw(frozen(response{200, sent}), false).headers(), sent);
}

TEST(Replay, R08C109CredentialsAreNotKeptUnlessWanted) {
  const header_list sent = lines({{"Set-Cookie", "a=1"},
                                  {"set-cookie", "b=2"},
                                  {"WWW-Authenticate", "Basic"},
                                  {"Authentication-Info", "x"}});
  EXPECT_TRUE(frozen(response{201, sent}).headers.empty());
  EXPECT_EQ(freeze(response{201, sent}, {}, cap).headers, sent) << "opted in: not joined";
}

TEST(Replay, R09R10FieldsOfOneExchangeOrConnectionAreNotKept) {
  header_list sent = lines({{"Connection", "x-foo, X-Bar"}, {"connection", "close"}});
  for (const char* name : {"X-Foo",
                           "X-Bar",
                           "Close",
                           "Keep-Alive",
                           "Proxy-Connection",
                           "TE",
                           "Trailer",
                           "Transfer-Encoding",
                           "Upgrade",
                           "Proxy-Authenticate",
                           "Content-Length",
                           "Date",
                           "Age",
                           "Via",
                           "Server",
                           "Alt-Svc",
                           "RateLimit",
                           "RateLimit-Policy",
                           "ratelimit-remaining",
                           "Server-Timing",
                           "traceparent",
                           "tracestate",
                           "X-Request-Id"}) {
    sent.add(name, "v");
  }
  EXPECT_TRUE(frozen(response{200, sent}).headers.empty());
}

TEST(Replay, R14KeptFields) {
  header_list sent;
  for (const char* name :
       {"Location", "Content-Location", "Content-Type", "Content-Language", "Content-Disposition",
        "Content-Encoding", "ETag", "Last-Modified", "Cache-Control", "Vary", "Link", "Retry-After",
        "Content-Digest", "Expires", "Stripe-Should-Retry", "Access-Control-Allow-Origin"}) {
    sent.add(name, "v");
  }
  EXPECT_EQ(frozen(response{402, sent}).headers, sent);
}

TEST(Replay, R16S11SteeringFieldsReachNobody) {
  header_list sent = lines({{"Idempotent-Replayed", "true"},
                            {"idempotency-outcome", "final"},
                            {"Idempotency-Resource", "charge 1"},
                            {"Idempotency-Recorded", "?0"},
                            {"Idempotency-Claim", "an application that echoes its handle"},
                            {"Idempotency-Attempt", "1"},
                            {"X-Kept", "1"}});
  EXPECT_EQ(frozen(response{200, sent}).headers, lines({{"X-Kept", "1"}}));
  const response again = thaw(frozen(response{200, sent}), true);
  EXPECT_EQ(again.headers().count("Idempotent-Replayed"), 1U);
  strip_for_client(sent);
  EXPECT_EQ(sent, lines({{"X-Kept", "1"}}));
}

TEST(Replay, TheFirstClientStillGetsWhatIsOnlyItsOwn) {
  header_list sent = lines({{"Set-Cookie", "a=1"},
                            {"Date", "d"},
                            {"Server", "s"},
                            {"Connection", "X-Hop"},
                            {"X-Hop", "1"},
                            {"Content-Length", "3"}});
  strip_for_client(sent);
  EXPECT_EQ(sent, lines({{"Set-Cookie", "a=1"}, {"Date", "d"}, {"Server", "s"}}));
}

TEST(Replay, ResourceIsTheApplicationsOwnWordElseTheLocation) {
  EXPECT_EQ(frozen(response{201, lines({{"Location", "/c/1"}})}).resource, "/c/1");
  EXPECT_EQ(
      frozen(response{201, lines({{"Location", "/c/1"}, {"Idempotency-Resource", "c1"}})}).resource,
      "c1");
  EXPECT_EQ(frozen(response{200}).resource, "");
}

TEST(Replay, S13BodiesUpToTheCapAreKept) {
  for (const std::size_t size : {cap - 1, cap, cap + 1}) {
    const stored_answer kept =
        frozen(response{201, lines({{"Location", "/c/1"}}), std::string(size, 'b')});
    EXPECT_EQ(kept.status, 201);
    EXPECT_EQ(kept.resource, "/c/1");
    EXPECT_EQ(kept.omitted, size <= cap ? body_omitted::none : body_omitted::cap) << size;
    EXPECT_EQ(kept.body.size(), size <= cap ? size : 0U) << size;
  }
}

}  // namespace
}  // namespace callonce
