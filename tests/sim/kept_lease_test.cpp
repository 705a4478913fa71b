#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <callonce/engine/engine.hpp>
#include <callonce/engine/event.hpp>
#include <callonce/stores/memory/store.hpp>
#include <callonce/testkit/holding_store.hpp>
#include <callonce/testkit/world.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// Two nodes over one store in a world of virtual time.
class kept_lease : public testing::Test {
 protected:
  static request charge() {
    header_list headers;
    headers.add("X-Account", "a");
    headers.add("Idempotency-Key", "k");
    return request{"POST", "/charges", std::move(headers), std::string{"amount=1"}};
  }

  static policy charges() {
    policy made;
    made.scope(scope_from_header("X-Account")).lease(2s).timeout(30s);
    return made;
  }

  // A handler that takes six seconds: three times the lease.
  handler slow(testkit::node& at) {
    return [this, &at](claim&, const request&) { return work(at); };
  }
  asio::awaitable<outcome> work(testkit::node& at) {
    ++runs_;
    co_await detail::sleep_until(at, at.now() + 6s);
    answer given{response{201, "text/plain", std::string{"done"}}};
    co_return given;
  }

  asio::awaitable<void> ask(route& by, int& status) {
    const answer given = co_await by.answer(charge());
    status = given.head.status();
  }

  void run_until(testkit::world_time end) {
    while (world_.step(end)) {
    }
  }

  testkit::world world_{7};
  testkit::node first_{world_, {}};
  testkit::node second_{world_, {}};
  memory::store memory_{first_};
  testkit::holding_store rows_{memory_, true};
  engine one_{rows_, first_};
  engine other_{rows_, second_};
  route charges_one_{one_, charges(), slow(first_)};
  route charges_other_{other_, charges(), slow(second_)};
  int runs_ = 0;
};

TEST_F(kept_lease, of_a_row_that_was_held_when_it_was_to_be_renewed) {
  const identity row = std::get<identity>(charges_one_.admit(charge()));
  int first = 0;
  int second = 0;
  asio::co_spawn(first_.executor(), ask(charges_one_, first), asio::detached);
  // The renewal at two thirds of the lease meets the holder, who goes before the lease has lapsed.
  world_.at(1200ms, [&] { rows_.hold(row); });
  world_.at(1600ms, [&] { rows_.free(row); });
  world_.at(2500ms, [&] {
    asio::co_spawn(second_.executor(), ask(charges_other_, second), asio::detached);
  });
  run_until(10s);
  EXPECT_EQ(first, 201);
  EXPECT_EQ(second, 409);
  EXPECT_EQ(runs_, 1);
}

TEST_F(kept_lease, is_renewed_for_as_long_as_the_run_goes_on) {
  int first = 0;
  int second = 0;
  asio::co_spawn(first_.executor(), ask(charges_one_, first), asio::detached);
  world_.at(5900ms, [&] {
    asio::co_spawn(second_.executor(), ask(charges_other_, second), asio::detached);
  });
  run_until(10s);
  EXPECT_EQ(first, 201);
  EXPECT_EQ(second, 409);
  EXPECT_EQ(runs_, 1);
}

TEST_F(kept_lease, lapses_when_its_node_crashes) {
  int first = 0;
  int second = 0;
  int third = 0;
  asio::co_spawn(first_.executor(), ask(charges_one_, first), asio::detached);
  world_.at(1900ms, [&] { first_.crash(); });
  // Renewed at 1.33 s: alive until 3.33 s.
  world_.at(3200ms, [&] {
    asio::co_spawn(second_.executor(), ask(charges_other_, second), asio::detached);
  });
  world_.at(3400ms, [&] {
    asio::co_spawn(second_.executor(), ask(charges_other_, third), asio::detached);
  });
  run_until(20s);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 409);
  EXPECT_EQ(third, 201);
  EXPECT_EQ(runs_, 2);
}

TEST_F(kept_lease, everybody_who_waits_for_the_drain_is_told) {
  int first = 0;
  std::vector<bool> drained;
  const auto wait = [&]() -> asio::awaitable<void> {
    drained.push_back(co_await one_.drained(first_.now() + 20s));
  };
  asio::co_spawn(first_.executor(), ask(charges_one_, first), asio::detached);
  world_.at(1s, [&] {
    one_.drain();
    asio::co_spawn(first_.executor(), wait(), asio::detached);
    asio::co_spawn(first_.executor(), wait(), asio::detached);
  });
  run_until(30s);
  EXPECT_EQ(drained, (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace callonce
