#include <deque>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gateway/fake_upstream.hpp>
#include <gateway/forward.hpp>
#include <gtest/gtest.h>

#include <callonce/engine/engine.hpp>
#include <callonce/stores/memory/store.hpp>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

// Pre: `whose` outlives every use.
std::shared_ptr<upstream> borrow(upstream& whose) {
  return {std::shared_ptr<void>{}, &whose};
}

// A protected route whose handler forwards to a fake application.
class forwarding {
 public:
  explicit forwarding(policy by = plain())
      : route_{engine_, by, make_forward(borrow(application), by)} {}

  static policy plain() {
    policy by;
    by.scope(scope_from_header("X-Account")).name("charges").timeout(2s);
    policy_settings settings = by.settings();
    settings.readback = 0ms;
    return policy{settings};
  }
  static request post(std::string key = "\"k1\"") {
    header_list lines;
    lines.add("Host", "shop.example");
    lines.add("X-Account", "a1");
    lines.add("Content-Length", "2");
    lines.add("Accept-Encoding", "gzip, br");
    if (!key.empty()) lines.add("Idempotency-Key", std::move(key));
    return request{"POST", "/v1/charges?x=1", std::move(lines), {"{}"}};
  }

  response answer_to(request asked) {
    std::optional<answer> got;
    asio::co_spawn(io_, ask(std::move(asked), got), asio::detached);
    io_.restart();
    io_.run_for(10s);
    if (!got) throw std::runtime_error("no answer");
    EXPECT_EQ(got->rest, nullptr);
    return got->head;
  }

  fake_upstream application;

 private:
  asio::awaitable<void> ask(request asked, std::optional<answer>& into) {
    into = co_await route_.answer(std::move(asked));
  }

  asio::io_context io_;
  memory::store store_;
  engine engine_{store_};
  route route_;
};

std::string code_of(const response& said) {
  const std::string_view text = said.body_text();
  const std::string_view mark = "\"code\":\"";
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + mark.size();
  return std::string{text.substr(from, text.find('"', from) - from)};
}

TEST(Forward, C92TheApplicationSeesTheRequestWithItsKeyClaimAndAttempt) {
  forwarding world;
  world.application.will_answer(response{503});
  world.application.will_answer(response{201, "text/plain", {"ok"}});
  world.answer_to(forwarding::post());
  EXPECT_EQ(world.answer_to(forwarding::post()).status(), 201);

  ASSERT_EQ(world.application.seen.size(), 2U);
  std::set<std::string> claims;
  for (std::size_t each = 0; each < 2; ++each) {
    const request& seen = world.application.seen[each];
    EXPECT_EQ(seen.method(), "POST");
    EXPECT_EQ(seen.target(), "/v1/charges?x=1");
    EXPECT_EQ(seen.body_text(), "{}");
    ASSERT_EQ(seen.headers().count("Idempotency-Key"), 1U);
    EXPECT_EQ(*seen.headers().find("Idempotency-Key"), "\"k1\"");
    EXPECT_EQ(*seen.headers().find("Idempotency-Attempt"), std::to_string(each + 1));
    EXPECT_EQ(*seen.headers().find("Accept-Encoding"), "identity");  // D-63
    EXPECT_EQ(seen.headers().find("Content-Length"), nullptr);
    claims.insert(*seen.headers().find("Idempotency-Claim"));
  }
  EXPECT_EQ(claims.size(), 2U);
}

TEST(Forward, AnAnswerIsJudgedByItsRoute) {
  forwarding world;
  world.application.will_answer(response{500});
  world.application.will_answer(response{422, "text/plain", {"no"}});
  EXPECT_EQ(world.answer_to(forwarding::post()).status(), 500);
  EXPECT_EQ(world.answer_to(forwarding::post()).status(), 422);
  const response again = world.answer_to(forwarding::post());
  EXPECT_EQ(again.status(), 422);
  EXPECT_NE(again.headers().find("Idempotent-Replayed"), nullptr);
  EXPECT_EQ(world.application.seen.size(), 2U);
}

TEST(Forward, X06AnApplicationThatWasNotReachedLeavesTheKeyFree) {
  forwarding world;
  world.application.will_fail(upstream_fault::unreachable);
  world.application.will_answer(response{201});
  const response refused = world.answer_to(forwarding::post());
  EXPECT_EQ(refused.status(), 502);
  EXPECT_EQ(code_of(refused), "upstream_unreachable");
  EXPECT_NE(refused.headers().find("Retry-After"), nullptr);
  EXPECT_NE(refused.body_text().find("\"record\""), std::string_view::npos);
  EXPECT_EQ(world.answer_to(forwarding::post()).status(), 201);
}

TEST(Forward, X07ABrokenExchangeKeepsTheClaim) {
  forwarding world;
  world.application.will_fail(upstream_fault::broken);
  const response broken = world.answer_to(forwarding::post());
  EXPECT_EQ(broken.status(), 502);
  EXPECT_EQ(code_of(broken), "upstream_broken");
  EXPECT_EQ(code_of(world.answer_to(forwarding::post())), "idempotency_key_in_progress");
  EXPECT_EQ(world.application.seen.size(), 1U);
}

// C93: the hop that wrote it does not know what happened behind it, and its words pass through.
TEST(Forward, AReceived502Or504IsPassedOnAndKeepsTheClaim) {
  for (const int status : {502, 504}) {
    forwarding world;
    world.application.will_answer(response{status, "text/html", {"<h1>sorry</h1>"}});
    const response said = world.answer_to(forwarding::post());
    EXPECT_EQ(said.status(), status);
    EXPECT_EQ(said.body_text(), "<h1>sorry</h1>");
    EXPECT_EQ(code_of(world.answer_to(forwarding::post())), "idempotency_key_in_progress");
  }
}

TEST(Forward, AReceived502InPiecesIsPutTogetherUnlessItIsCutOrTooLong) {
  const auto said_in = [](std::vector<std::string> pieces, bool cut) {
    forwarding world;
    world.application.will_answer(response{504, "text/html", {"a"}}, std::move(pieces), cut);
    response said = world.answer_to(forwarding::post());
    EXPECT_EQ(code_of(world.answer_to(forwarding::post())), "idempotency_key_in_progress");
    return said;
  };
  EXPECT_EQ(said_in({"b", "c"}, false).body_text(), "abc");
  EXPECT_EQ(code_of(said_in({"b"}, true)), "upstream_timeout");
  EXPECT_EQ(code_of(said_in({std::string(100000, 'x')}, false)), "upstream_timeout");
}

TEST(Forward, ARouteOrTheApplicationMaySayWhatA502Means) {
  policy_settings settings = forwarding::plain().settings();
  settings.outcome[502] = outcome_rule::release;
  forwarding by_route{policy{settings}};
  forwarding by_application;
  for (forwarding* world : {&by_route, &by_application}) {
    response bad{502};
    if (world == &by_application) bad.header("Idempotency-Outcome", "retryable");
    world->application.will_answer(std::move(bad));
    world->application.will_answer(response{201});
    EXPECT_EQ(world->answer_to(forwarding::post()).status(), 502);
    EXPECT_EQ(world->answer_to(forwarding::post()).status(), 201);
  }
}

TEST(Forward, S17ACutOffAnswerIsNotFrozen) {
  forwarding world;
  world.application.will_answer(response{201, "text/plain", {"hel"}}, {"l"}, true);
  EXPECT_EQ(world.answer_to(forwarding::post()).status(), 502);
  EXPECT_EQ(code_of(world.answer_to(forwarding::post())), "idempotency_key_in_progress");
}

TEST(Forward, WithoutAKeyNothingIsClaimed) {
  forwarding world;
  world.application.will_answer(response{200});
  EXPECT_EQ(world.answer_to(forwarding::post("")).status(), 200);
  const request& seen = world.application.seen.at(0);
  EXPECT_EQ(seen.headers().find("Idempotency-Claim"), nullptr);
  EXPECT_EQ(*seen.headers().find("Accept-Encoding"), "gzip, br");
}

TEST(Forward, ALostClaimCancelsTheExchange) {
  policy_settings settings = forwarding::plain().settings();
  settings.timeout = 20ms;
  settings.detached_max = 40ms;
  forwarding world{policy{settings}};
  world.application.will_hang();
  EXPECT_EQ(code_of(world.answer_to(forwarding::post())), "upstream_timeout");
  EXPECT_TRUE(world.application.was_cancelled);
}

}  // namespace
}  // namespace callonce::gateway
