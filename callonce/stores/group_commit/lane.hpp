#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <callonce/stores/group_commit/connection.hpp>

namespace callonce::group_commit {

/// One thread with one connection around a `plan`: while one commit is on its way, what comes next
/// queues up and becomes the next batch. An idle lane sends a single claim at once; a busy one
/// grows its batches by itself.
///
/// A second thread only watches the callers' patience, for the first may be held up in the database
/// for as long as the database likes. Both wait on condition variables, not through `environment`:
/// they are the blocking side of a store and never part of a simulated world, which has `plan`.
/// Threads: called from any executor; each operation ends on its caller's.
class lane {
 public:
  /// `patience` is how long a caller waits for its answer. `on_batch` is told on the lane's thread
  /// how many operations each commit made durable; it may be empty.
  lane(std::unique_ptr<connection> over, environment& in, std::chrono::milliseconds patience,
       limits within = {}, std::function<void(std::size_t)> on_batch = {});
  /// Sends what still waits, until the first fault; the rest is answered `unavailable` or
  /// `in_doubt`. Pre: the callers' executors live.
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  asio::awaitable<result<claim_reply>> claim(const claim_request& wish);
  asio::awaitable<result<write_reply>> renew(const fence& by);
  asio::awaitable<result<write_reply>> complete(const fence& by,
                                                std::shared_ptr<const stored_answer> answer);
  asio::awaitable<result<write_reply>> release(const fence& by,
                                               std::chrono::milliseconds retention);
  asio::awaitable<result<write_reply>> park(const fence& by);
  asio::awaitable<result<write_reply>> settle(const settlement& decision,
                                              const settle_reason& reason);

 private:
  template <class Reply>
  asio::awaitable<result<Reply>> ask(call what);
  void submit(call what, std::unique_ptr<caller> who);
  void work();
  bool send_batch(std::unique_lock<std::mutex>& held);
  bool recover(std::unique_lock<std::mutex>& held);
  void watch();
  static void hand_back(answers ended, std::unique_lock<std::mutex>& held);

  environment& environment_;
  const std::chrono::milliseconds patience_;
  const std::unique_ptr<connection> connection_;
  const std::function<void(std::size_t)> on_batch_;

  std::mutex mutex_;
  plan plan_;
  bool stopping_ = false;
  steady_time watched_until_ = steady_time::max();
  std::condition_variable has_work_;
  std::condition_variable has_patience_;

  std::thread worker_;
  std::thread watcher_;
};

}  // namespace callonce::group_commit
