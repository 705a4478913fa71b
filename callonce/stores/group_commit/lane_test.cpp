#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <callonce/stores/group_commit/lane.hpp>

namespace callonce::group_commit {
namespace {

using namespace std::chrono_literals;

// A database that wins every claim and can be held up.
class fake_connection final : public connection {
 public:
  struct controls {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = true;
    bool entered = false;
    int recoveries_needed = 0;
    std::vector<batch_fault> faults;  // For the next batches, last first.
    std::vector<std::size_t> batches;
    std::vector<bool> was_release;

    void shut() {
      const std::lock_guard guard{mutex};
      open = entered = false;
    }
    void release() {
      const std::lock_guard guard{mutex};
      open = true;
      changed.notify_all();
    }
    void await_entry() {
      std::unique_lock held{mutex};
      changed.wait(held, [&] { return entered; });
    }
  };

  explicit fake_connection(controls& by) : by_(by) {}

  results apply(std::span<const operation* const> sent) override {
    std::unique_lock held{by_.mutex};
    by_.entered = true;
    by_.changed.notify_all();
    by_.changed.wait(held, [&] { return by_.open; });
    by_.batches.push_back(sent.size());
    if (!by_.faults.empty()) {
      const batch_fault why = by_.faults.back();
      by_.faults.pop_back();
      return why;
    }
    std::vector<outcome> met;
    for (const operation* each : sent) met.push_back(serve(*each));
    return met;
  }

  bool recover() override {
    const std::lock_guard guard{by_.mutex};
    return by_.recoveries_needed-- <= 0;
  }

 private:
  outcome serve(const operation& one) {
    by_.was_release.push_back(std::holds_alternative<release_call>(one.what));
    if (const auto* asked = std::get_if<claim_call>(&one.what)) {
      claim_reply met;
      met.verdict = claim_verdict::claimed;
      met.current.id = asked->wish.id;
      met.current.claim_id = asked->wish.claim_id;
      return reply{met};
    }
    write_reply met;
    met.verdict = write_verdict::done;
    return reply{met};
  }

  controls& by_;
};

claim_request wish_for(int key) {
  claim_request made;
  made.id = identity{scope_hash{}, callonce::key{std::to_string(key)}};
  return made;
}

class lane_test : public testing::Test {
 protected:
  void SetUp() override {
    runner_ = std::thread{[this] { io_.run(); }};
  }
  void TearDown() override {
    work_.reset();
    runner_.join();
  }

  std::unique_ptr<lane> make(std::chrono::milliseconds patience = 10s) {
    return std::make_unique<lane>(std::make_unique<fake_connection>(controls_),
                                  system_environment(), patience);
  }
  std::future<result<claim_reply>> claim(lane& at, int key) {
    return asio::co_spawn(io_, at.claim(wish_for(key)), asio::use_future);
  }

  fake_connection::controls controls_;
  asio::io_context io_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
      io_.get_executor()};
  std::thread runner_;
};

TEST_F(lane_test, what_queues_up_during_one_commit_is_the_next_batch) {
  const auto lane = make();
  controls_.shut();
  auto first = claim(*lane, 0);
  controls_.await_entry();
  std::vector<std::future<result<claim_reply>>> rest;
  for (int each = 1; each <= 50; ++each) rest.push_back(claim(*lane, each));
  // An operation on the same executor comes after them: when it has run, they are queued.
  asio::post(io_, asio::use_future).get();
  controls_.release();
  EXPECT_TRUE(first.get());
  for (auto& each : rest) EXPECT_TRUE(each.get());
  EXPECT_EQ(controls_.batches, (std::vector<std::size_t>{1, 50}));
}

TEST_F(lane_test, patience_ends_although_the_database_is_stalled) {
  const auto lane = make(50ms);
  controls_.shut();
  auto sent = claim(*lane, 0);
  controls_.await_entry();
  auto queued = claim(*lane, 1);
  EXPECT_EQ(queued.get().error(), make_error_code(errc::unavailable));
  EXPECT_EQ(sent.get().error(), make_error_code(errc::in_doubt));
  controls_.release();
  EXPECT_TRUE(claim(*lane, 2).get()) << "the lane goes on";
  EXPECT_EQ(controls_.was_release, (std::vector<bool>{false, true, false}))
      << "the claim that nobody waited for was given back";
}

TEST_F(lane_test, a_lost_connection_is_made_anew_and_the_batch_sent_again) {
  const auto lane = make();
  controls_.recoveries_needed = 3;
  controls_.faults = {batch_fault::not_applied, batch_fault::in_doubt};
  EXPECT_TRUE(claim(*lane, 0).get());
  EXPECT_EQ(controls_.batches, (std::vector<std::size_t>{1, 1, 1}));
}

TEST_F(lane_test, ending_the_lane_answers_everybody) {
  auto lane = make();
  controls_.shut();
  auto first = claim(*lane, 0);
  controls_.await_entry();
  auto second = claim(*lane, 1);
  asio::post(io_, asio::use_future).get();
  controls_.faults = {batch_fault::not_applied};
  std::thread ending{[&] { lane.reset(); }};
  controls_.release();
  ending.join();
  // Which of the two the lane still sends depends on when it heard that it ends.
  first.get();
  second.get();
}

TEST_F(lane_test, many_threads_and_many_lanes_of_callers) {
  const auto lane = make();
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      asio::io_context own;
      for (int each = 0; each < 200; ++each) {
        asio::co_spawn(
            own, lane->claim(wish_for(1000 * thread + each)),
            [&](std::exception_ptr, result<claim_reply> met) { answered += met ? 1 : 0; });
      }
      own.run();
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(answered, 800);
}

}  // namespace
}  // namespace callonce::group_commit
