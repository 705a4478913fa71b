#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <callonce/engine/engine.hpp>
#include <callonce/engine/purger.hpp>
#include <callonce/stores/memory/store.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

policy tested_policy() {
  return policy{}.name("charges").scope(scope_from_header("X-Account")).lease(5s);
}

request post(std::string key, std::string content = "{}", std::string account = "a") {
  header_list headers;
  headers.add("Content-Type", "application/json");
  headers.add("X-Account", std::move(account));
  if (!key.empty()) headers.add("Idempotency-Key", std::move(key));
  return {"POST", "/v1/charges", std::move(headers), std::move(content)};
}

bool is_replay(const response& of) {
  return of.headers().find("Idempotent-Replayed") != nullptr;
}

bool has_code(const response& of, std::string_view code) {
  const std::string member = "\"code\":\"" + std::string{code} + "\"";
  return of.body_text().find(member) != std::string_view::npos;
}

// A store whose every claim is refused as if the disk were full.
class full_store final : public memory::store {
 public:
  using memory::store::store;
  bool full = true;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    if (full) co_return errc::unavailable;
    co_return co_await memory::store::claim(wish);
  }
};

class counting_store final : public memory::store {
 public:
  using memory::store::store;
  int claims = 0;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    ++claims;
    return memory::store::claim(wish);
  }
};

class engine_test : public testing::Test {
 protected:
  // Runs requests at the same time, on one thread, and gives their answers in order.
  std::vector<response> answers(route& by, std::vector<request> asked) {
    std::vector<response> got(asked.size());
    for (std::size_t at = 0; at < asked.size(); ++at) {
      const auto one = [](route& to, request what, response& into) -> asio::awaitable<void> {
        answer given = co_await to.answer(std::move(what));
        into = std::move(given.head);
      };
      asio::co_spawn(io_, one(by, std::move(asked[at]), got[at]), [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
    }
    io_.restart();
    io_.run();
    return got;
  }

  response answer_to(route& by, request asked) {
    std::vector<request> one;
    one.push_back(std::move(asked));
    return answers(by, std::move(one)).front();
  }

  // Counts its runs, takes a moment, and answers what `says` makes of the count.
  handler counting(std::function<outcome(int)> says, std::chrono::milliseconds takes = 0ms) {
    return
        [this, says = std::move(says), takes](claim&, const request&) -> asio::awaitable<outcome> {
          const int run = ++runs_;
          if (takes > 0ms) {
            asio::steady_timer pause{io_, takes};
            co_await pause.async_wait(asio::use_awaitable);
          }
          co_return says(run);
        };
  }

  static outcome created(int run) {
    return answer{response{201, "application/json", "{\"run\":" + std::to_string(run) + "}"}.header(
        "Location", "/v1/charges/1")};
  }

  asio::io_context io_{1};
  memory::store store_;
  int runs_ = 0;
};

TEST_F(engine_test, R01_a_retry_gets_the_first_answer_marked) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created)};
  const response first = answer_to(charges, post("k1"));
  const response second = answer_to(charges, post("k1"));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(first.status(), 201);
  EXPECT_FALSE(is_replay(first));
  EXPECT_EQ(second.status(), 201);
  EXPECT_TRUE(is_replay(second));
  EXPECT_EQ(first.body_text(), second.body_text());
  EXPECT_EQ(*second.headers().find("Location"), "/v1/charges/1");
}

TEST_F(engine_test, C_01_of_fifty_at_once_one_runs_and_the_others_are_told_so) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created, 20ms)};
  const std::vector<response> got = answers(charges, std::vector<request>(50, post("k1")));
  int fresh = 0;
  for (const response& each : got) {
    if (each.status() == 201) {
      ++fresh;
    } else {
      EXPECT_EQ(each.status(), 409);
      EXPECT_TRUE(has_code(each, "idempotency_key_in_progress"));
      EXPECT_EQ(*each.headers().find("Retry-After"), "1");
    }
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(over.runs(), 0U);
}

TEST_F(engine_test, C_04_waiting_duplicates_get_the_replay) {
  engine over{store_};
  route charges{over, tested_policy().wait(5s), counting(created, 20ms)};
  const std::vector<response> got = answers(charges, std::vector<request>(50, post("k1")));
  int replays = 0;
  for (const response& each : got) {
    EXPECT_EQ(each.status(), 201);
    EXPECT_EQ(each.body_text(), "{\"run\":1}");
    replays += is_replay(each) ? 1 : 0;
  }
  EXPECT_EQ(replays, 49);
  EXPECT_EQ(over.waiters(), 0U);
}

TEST_F(engine_test, C_07_without_a_free_slot_a_duplicate_does_not_wait) {
  engine_limits limits;
  limits.wait_slots = 2;
  engine over{store_, system_environment(), nullptr, limits};
  route charges{over, tested_policy().wait(5s), counting(created, 20ms)};
  int refused = 0;
  for (const response& each : answers(charges, std::vector<request>(10, post("k1")))) {
    refused += each.status() == 409 ? 1 : 0;
  }
  EXPECT_EQ(refused, 7);
}

TEST_F(engine_test, F03_another_payload_is_a_mismatch_while_the_first_runs_and_after) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created, 20ms)};
  const std::vector<response> got = answers(charges, {post("k1"), post("k1", "{\"x\":1}")});
  EXPECT_EQ(got[0].status(), 201);
  EXPECT_EQ(got[1].status(), 422);
  EXPECT_TRUE(has_code(got[1], "idempotency_key_reused"));
  EXPECT_EQ(got[1].headers().find("Retry-After"), nullptr);
  EXPECT_EQ(answer_to(charges, post("k1", "{\"x\":1}")).status(), 422);
  EXPECT_EQ(runs_, 1);
}

TEST_F(engine_test, A01_scopes_never_see_each_other) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created)};
  EXPECT_EQ(answer_to(charges, post("k1", "{}", "a")).body_text(), "{\"run\":1}");
  const response other = answer_to(charges, post("k1", "{}", "b"));
  EXPECT_EQ(other.body_text(), "{\"run\":2}");
  EXPECT_FALSE(is_replay(other));
}

TEST_F(engine_test, C_12_a_waiter_of_a_failed_run_runs_again) {
  engine over{store_};
  const auto once_failing = [](int run) -> outcome {
    if (run == 1) return answer{response{503, "text/plain", std::string{"later"}}};
    return created(run);
  };
  route charges{over, tested_policy().wait(5s), counting(once_failing, 10ms)};
  const std::vector<response> got = answers(charges, {post("k1"), post("k1"), post("k1")});
  EXPECT_EQ(got[0].status(), 503);
  EXPECT_EQ(got[1].status(), 201);
  EXPECT_EQ(got[2].status(), 201);
  EXPECT_EQ(runs_, 2);
}

TEST_F(engine_test, S08_what_a_handler_throws_becomes_a_500_and_the_next_retry_runs) {
  engine over{store_};
  const auto throwing = [](int run) -> outcome {
    if (run == 1) throw 7;
    return created(run);
  };
  route charges{over, tested_policy(), counting(throwing)};
  const response failed = answer_to(charges, post("k1"));
  EXPECT_EQ(failed.status(), 500);
  EXPECT_TRUE(has_code(failed, "internal_error"));
  EXPECT_EQ(answer_to(charges, post("k1")).status(), 201);
}

TEST_F(engine_test, S13_an_answer_over_the_cap_goes_out_whole_and_is_never_run_again) {
  engine over{store_};
  policy_settings settings = tested_policy().settings();
  settings.response_body_max = 4;
  route charges{over, policy{settings}, counting([](int) -> outcome {
                  return answer{response{201, "text/plain", std::string{"12345"}}};
                })};
  EXPECT_EQ(answer_to(charges, post("k1")).body_text(), "12345");
  const response second = answer_to(charges, post("k1"));
  EXPECT_EQ(second.status(), 409);
  EXPECT_TRUE(has_code(second, "idempotency_response_unavailable"));
  EXPECT_NE(second.body_text().find("\"original_status\":201"), std::string_view::npos);
  EXPECT_EQ(runs_, 1);
}

TEST_F(engine_test, L20_after_a_timeout_the_late_answer_is_replayed) {
  engine over{store_};
  route charges{over, tested_policy().timeout(10ms), counting(created, 60ms)};
  const response first = answer_to(charges, post("k1"));
  EXPECT_EQ(first.status(), 504);
  EXPECT_TRUE(has_code(first, "upstream_timeout"));
  const response second = answer_to(charges, post("k1"));
  EXPECT_EQ(second.status(), 201);
  EXPECT_TRUE(is_replay(second));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(over.detached(), 0U);
}

TEST_F(engine_test, D48_an_indeterminate_outcome_keeps_the_claim) {
  engine over{store_};
  route charges{over, tested_policy(), counting([](int) -> outcome { return indeterminate{}; })};
  EXPECT_EQ(answer_to(charges, post("k1")).status(), 504);
  EXPECT_EQ(answer_to(charges, post("k1")).status(), 409);
  EXPECT_EQ(runs_, 1);
}

TEST_F(engine_test, L14_under_park_an_indeterminate_outcome_is_never_run_again) {
  engine over{store_};
  route charges{over, tested_policy().park_on_lapse(),
                counting([](int) -> outcome { return indeterminate{}; })};
  answer_to(charges, post("k1"));
  const response second = answer_to(charges, post("k1"));
  EXPECT_EQ(second.status(), 409);
  EXPECT_TRUE(has_code(second, "idempotency_outcome_unknown"));
}

TEST_F(engine_test, X01_a_store_that_cannot_record_lets_nothing_run) {
  full_store store;
  engine over{store};
  route charges{over, tested_policy(), counting(created)};
  const response refused = answer_to(charges, post("k1"));
  EXPECT_EQ(refused.status(), 503);
  EXPECT_TRUE(has_code(refused, "idempotency_store_unavailable"));
  EXPECT_EQ(runs_, 0);
  store.full = false;
  EXPECT_EQ(answer_to(charges, post("k1")).status(), 201);
}

TEST_F(engine_test, P02_without_a_key_an_optional_route_runs_unprotected) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created)};
  EXPECT_FALSE(is_replay(answer_to(charges, post(""))));
  EXPECT_FALSE(is_replay(answer_to(charges, post(""))));
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(engine_test, P01_a_required_key_that_is_missing_is_refused) {
  engine over{store_};
  route charges{over, tested_policy().key(key_demand::required), counting(created)};
  EXPECT_TRUE(has_code(answer_to(charges, post("")), "idempotency_key_missing"));
  EXPECT_EQ(runs_, 0);
}

TEST_F(engine_test, draining_refuses_new_runs_and_still_replays_what_was_just_replayed) {
  engine over{store_};
  route charges{over, tested_policy(), counting(created)};
  answer_to(charges, post("k1"));
  answer_to(charges, post("k1"));
  over.drain();
  EXPECT_TRUE(is_replay(answer_to(charges, post("k1"))));
  EXPECT_TRUE(has_code(answer_to(charges, post("k2")), "draining"));
}

TEST_F(engine_test, a_storm_on_a_finished_key_asks_the_store_once) {
  counting_store counted;
  engine over{counted};
  route charges{over, tested_policy(), counting(created)};
  answer_to(charges, post("k1"));
  counted.claims = 0;
  for (int retry = 0; retry < 100; ++retry) {
    const response again = answer_to(charges, post("k1"));
    EXPECT_TRUE(is_replay(again));
    EXPECT_EQ(again.body_text(), "{\"run\":1}");
  }
  EXPECT_TRUE(has_code(answer_to(charges, post("k1", "{\"other\":1}")), "idempotency_key_reused"));
  EXPECT_EQ(counted.claims, 1);
  EXPECT_EQ(runs_, 1);
}

TEST_F(engine_test, a_purger_that_sleeps_stops_when_asked) {
  purger cleaning{store_};
  std::stop_source stop;
  asio::co_spawn(io_, cleaning.run(stop.get_token()), asio::detached);
  asio::steady_timer soon{io_, 20ms};
  soon.async_wait([&](const boost::system::error_code&) { stop.request_stop(); });
  const auto start = std::chrono::steady_clock::now();
  io_.run();
  // It would sleep for five seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST_F(engine_test, a_client_that_hangs_up_gives_its_wait_slot_back) {
  engine over{store_};
  route charges{over, tested_policy().wait(5s), counting(created, 60ms)};
  std::stop_source hang_up;
  int waiting_before = 0;
  int waiting_after = -1;
  const auto leave_early = [&]() -> asio::awaitable<void> {
    const answer given = co_await charges.answer(post("k1"), hang_up.get_token());
    EXPECT_EQ(given.head.status(), 409);
    waiting_after = static_cast<int>(over.waiters());
  };
  const auto first = [&]() -> asio::awaitable<void> {
    const answer given = co_await charges.answer(post("k1"));
    EXPECT_EQ(given.head.status(), 201);
  };
  asio::co_spawn(io_, first(), asio::detached);
  asio::co_spawn(io_, leave_early(), asio::detached);
  asio::steady_timer soon{io_, 10ms};
  soon.async_wait([&](const boost::system::error_code&) {
    waiting_before = static_cast<int>(over.waiters());
    hang_up.request_stop();
  });
  io_.run();
  EXPECT_EQ(waiting_before, 1);
  EXPECT_EQ(waiting_after, 0);
}

TEST_F(engine_test, a_route_that_cannot_be_safe_is_not_built) {
  engine over{store_};
  EXPECT_THROW((route{over, policy{}, counting(created)}), std::invalid_argument);
  EXPECT_THROW((route{over, tested_policy().lease(1s), counting(created)}), std::invalid_argument);
  EXPECT_THROW((route{over, tested_policy(), handler{}}), std::invalid_argument);
}

}  // namespace
}  // namespace callonce
