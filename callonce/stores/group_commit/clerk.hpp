#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <callonce/core/error.hpp>
#include <callonce/engine/completion.hpp>

namespace callonce::group_commit {

/// A thread that does, one after the other, what a store is asked beside its lanes: pages of
/// records, and purging.
/// Threads: asked from any executor; each operation ends on its caller's.
class clerk {
 public:
  clerk() : thread_([this] { work(); }) {}
  /// Ends what was asked. Pre: the callers' executors live.
  ~clerk() {
    {
      const std::lock_guard guard{mutex_};
      stopping_ = true;
    }
    asked_.notify_all();
    thread_.join();
  }
  clerk(const clerk&) = delete;
  clerk& operator=(const clerk&) = delete;

  /// Calls `work` on the thread and yields what it returned.
  template <class Reply>
  asio::awaitable<result<Reply>> ask(std::function<result<Reply>()> work) {
    using completion = callonce::detail::completion<result<Reply>>;
    auto start = [&](completion resuming) {
      // std::function wants what can be copied.
      auto waiting = std::make_shared<completion>(std::move(resuming));
      put([waiting, work] {
        const asio::any_io_executor executor = waiting->executor();
        // Keeps the executor from ending while this thread is still inside the post.
        const auto alive = asio::make_work_guard(executor);
        asio::post(executor, [waiting, said = work()]() mutable { (*waiting)(std::move(said)); });
      });
    };
    co_return co_await callonce::detail::suspend<result<Reply>>(start);
  }

 private:
  void put(std::function<void()> task) {
    {
      const std::lock_guard guard{mutex_};
      tasks_.push_back(std::move(task));
    }
    asked_.notify_one();
  }

  void work() {
    std::unique_lock held{mutex_};
    for (;;) {
      asked_.wait(held, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      held.unlock();
      task();
      held.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  bool stopping_ = false;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace callonce::group_commit
