#include <algorithm>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <callonce/engine/blocking.hpp>
#include <callonce/stores/memory/store.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

policy tested_policy() {
  return policy{}.scope(scope_from_header("X-Account")).lease(5s);
}

request post(std::string key) {
  header_list headers;
  headers.add("X-Account", "a");
  headers.add("Idempotency-Key", std::move(key));
  return {"POST", "/v1/refunds", std::move(headers), std::string{"{}"}};
}

TEST(blocking_test, C_02_of_twenty_threads_with_one_key_one_runs_on_its_own_thread) {
  memory::store store;
  engine over{store};
  std::atomic<int> runs = 0;
  std::thread::id ran_on;
  blocking::route refunds{over, tested_policy().wait(5s),
                          [&](claim& won, const request&) -> outcome {
                            ++runs;
                            ran_on = std::this_thread::get_id();
                            EXPECT_EQ(won.attempt(), 1U);
                            return answer{response{201, "text/plain", std::string{"done"}}};
                          }};
  std::latch together{20};
  std::vector<response> got(20);
  std::vector<std::thread> callers;
  std::vector<std::thread::id> ids;
  for (response& into : got) {
    callers.emplace_back([&] {
      together.arrive_and_wait();
      into = refunds(post("k1"));
    });
    ids.push_back(callers.back().get_id());
  }
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(runs, 1);
  EXPECT_NE(std::find(ids.begin(), ids.end(), ran_on), ids.end());
  const auto marked = std::count_if(got.begin(), got.end(), [](const response& each) {
    return each.headers().find("Idempotent-Replayed") != nullptr;
  });
  EXPECT_EQ(marked, 19);
  for (const response& each : got) EXPECT_EQ(each.body_text(), "done");
}

TEST(blocking_test, C17_a_handler_that_throws_leaves_the_key_free) {
  memory::store store;
  engine over{store};
  int runs = 0;
  blocking::route refunds{over, tested_policy(), [&](claim&, const request&) -> outcome {
                            if (++runs == 1) throw std::runtime_error{"no"};
                            return answer{response{204}};
                          }};
  EXPECT_EQ(refunds(post("k1")).status(), 500);
  EXPECT_EQ(refunds(post("k1")).status(), 204);
  EXPECT_EQ(refunds(post("k1")).status(), 204);
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace callonce
