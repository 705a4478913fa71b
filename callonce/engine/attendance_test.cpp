// What a request gets besides its answer, and in place of it.
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <callonce/engine/engine.hpp>
#include <callonce/stores/memory/store.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

policy_settings settings() {
  policy by;
  by.name("charges").scope(scope_from_header("X-Account")).lease(5s);
  return by.settings();
}

request post(std::string key) {
  header_list headers;
  headers.add("X-Account", "a");
  headers.add("Idempotency-Key", std::move(key));
  return {"POST", "/v1/charges", std::move(headers), std::string{"{}"}};
}

// A store that takes no claim.
class full_store final : public memory::store {
 public:
  using memory::store::store;
  asio::awaitable<result<claim_reply>> claim(const claim_request&) override {
    co_return errc::unavailable;
  }
};

// A store that takes claims and no completion.
class unfinished_store final : public memory::store {
 public:
  using memory::store::store;
  asio::awaitable<result<write_reply>> complete(const fence&,
                                                std::shared_ptr<const stored_answer>) override {
    co_return errc::unavailable;
  }
};

// The real one; it counts how often somebody looks at its clock.
class watched_clock final : public environment {
 public:
  steady_time now() const override {
    ++looks;
    return system_environment().now();
  }
  wall_time wall() const override { return system_environment().wall(); }
  void fill_random(std::span<std::byte> bytes) override { system_environment().fill_random(bytes); }
  std::unique_ptr<alarm> call_at(const asio::any_io_executor& on, steady_time at,
                                 std::function<void()> action) override {
    return system_environment().call_at(on, at, std::move(action));
  }
  mutable int looks = 0;
};

class attendance_test : public testing::Test {
 protected:
  response answer_to(route& by, request asked, client_side client = {}) {
    response got;
    const auto one = [](route& to, request what, client_side from,
                        response& into) -> asio::awaitable<void> {
      answer given = co_await to.answer(std::move(what), std::move(from));
      into = std::move(given.head);
    };
    asio::co_spawn(io_, one(by, std::move(asked), std::move(client), got),
                   [](const std::exception_ptr& thrown) {
                     if (thrown) std::rethrow_exception(thrown);
                   });
    io_.restart();
    io_.run();
    return got;
  }

  handler created() {
    return [this](claim& won, const request&) -> asio::awaitable<outcome> {
      ++runs_;
      response hints{103};
      hints.header("Link", "</a.css>");
      won.send_interim(std::move(hints));
      response made{201, "text/plain", std::string{"made"}};
      made.trailers().add("X-Sum", "1");
      made.trailers().add("Set-Cookie", "a=b");
      co_return answer{std::move(made)};
    };
  }

  asio::io_context io_{1};
  memory::store store_;
  int runs_ = 0;
};

TEST_F(attendance_test, R18_an_interim_answer_reaches_the_first_client_and_nobody_else) {
  engine over{store_};
  route charges{over, policy{settings()}, created()};
  int told = 0;
  const interim_sink tell = [&](const response& interim) -> asio::awaitable<void> {
    EXPECT_EQ(interim.status(), 103);
    ++told;
    co_return;
  };
  EXPECT_EQ(answer_to(charges, post("k"), client_side{{}, tell}).status(), 201);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(answer_to(charges, post("k"), client_side{{}, tell}).status(), 201);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(answer_to(charges, post("nobody-listens")).status(), 201);
}

TEST_F(attendance_test, R17_trailers_are_replayed_without_what_may_not_stand_there) {
  engine over{store_};
  route charges{over, policy{settings()}, created()};
  answer_to(charges, post("k"));
  const response again = answer_to(charges, post("k"));
  ASSERT_NE(again.trailers().find("X-Sum"), nullptr);
  EXPECT_EQ(again.trailers().size(), 1U);
}

// In class atomic the first one has been told 503; who waits for it does so without going round.
TEST_F(attendance_test, X01_a_duplicate_rests_while_a_completion_cannot_be_written) {
  unfinished_store records;
  engine_limits limits;
  limits.store_patience = 50ms;
  watched_clock clock;
  engine over{records, clock, nullptr, limits};
  policy_settings by = settings();
  by.effects = effect_class::atomic;
  by.wait = 300ms;
  by.detached_max = 1s;
  route charges{over, policy{by}, created()};
  std::vector<int> told;
  const auto ask = [&]() -> asio::awaitable<void> {
    request asked = post("k");
    const answer given = co_await charges.answer(std::move(asked));
    told.push_back(given.head.status());
  };
  asio::co_spawn(io_, ask(), asio::detached);
  asio::co_spawn(io_, ask(), asio::detached);
  io_.run();
  EXPECT_EQ(told, (std::vector<int>{503, 409}));
  EXPECT_LT(clock.looks, 1000);
  EXPECT_EQ(runs_, 1);
}

TEST_F(attendance_test, A03_C106_who_may_no_longer_read_gets_the_check_s_answer) {
  engine over{store_};
  bool allowed = true;
  int asked = 0;
  const replay_check check = [&](const request& by) -> asio::awaitable<std::optional<response>> {
    EXPECT_NE(by.headers().find("X-Account"), nullptr);
    ++asked;
    std::optional<response> instead;
    if (!allowed) instead.emplace(403, "text/plain", std::string{"no"});
    co_return instead;
  };
  policy_settings small = settings();
  small.response_body_max = 0;
  route charges{over, policy{settings()}, created(), check};
  route bodyless{over, policy{small}, created(), check};
  EXPECT_EQ(answer_to(charges, post("k")).status(), 201);
  EXPECT_EQ(answer_to(bodyless, post("b")).status(), 201);
  EXPECT_EQ(asked, 0) << "the first answer is the application's own";
  EXPECT_EQ(answer_to(charges, post("k")).body_text(), "made");
  allowed = false;
  EXPECT_EQ(answer_to(charges, post("k")).status(), 403);
  const response known = answer_to(bodyless, post("b"));
  EXPECT_EQ(known.status(), 403);
  EXPECT_EQ(known.body_text(), "no");
  EXPECT_EQ(runs_, 2);
}

TEST_F(attendance_test, X02_C76_a_route_may_run_unprotected_while_its_store_is_down_and_says_so) {
  full_store full;
  engine over{full};
  policy_settings open = settings();
  open.store_down = store_down::fail_open;
  route charges{over, policy{open}, created()};
  for (int i = 1; i <= 2; ++i) {
    const response seen = answer_to(charges, post("k"));
    EXPECT_EQ(seen.status(), 201);
    ASSERT_NE(seen.headers().find("Idempotency-Unprotected"), nullptr);
    EXPECT_EQ(*seen.headers().find("Idempotency-Unprotected"), "?1");
    EXPECT_EQ(runs_, i);
  }
  route closed{over, policy{settings()}, created()};
  EXPECT_EQ(answer_to(closed, post("k")).status(), 503);
  EXPECT_EQ(runs_, 2);
}

TEST_F(attendance_test, an_answer_carries_its_key_where_the_route_echoes_it) {
  engine over{store_};
  policy_settings echoing = settings();
  echoing.echo_key = true;
  route charges{over, policy{echoing}, created()};
  const auto echoed = [&](request asked) {
    const response seen = answer_to(charges, std::move(asked));
    const std::string* key = seen.headers().find("Idempotency-Key");
    EXPECT_EQ(seen.headers().count("Idempotency-Key"), 1U);
    return key != nullptr ? *key : std::string{};
  };
  EXPECT_EQ(echoed(post("\"k\"")), "\"k\"");
  EXPECT_EQ(echoed(post("k")), "k") << "as this request spelled it";
  EXPECT_EQ(echoed(post("\"x")), "\"x") << "a refusal too";
}

}  // namespace
}  // namespace callonce
