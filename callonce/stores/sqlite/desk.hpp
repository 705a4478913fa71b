#pragma once

// Internal: what is asked of a file beside the lane: pages of records, and purging.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include <callonce/engine/store.hpp>
#include <callonce/stores/sqlite/rows.hpp>
#include <callonce/stores/sqlite/turnstile.hpp>

namespace callonce::sqlite::detail {

/// A thread with its own connection: reading is never held up by a writer, and purging takes its
/// turns like another process.
/// Threads: called from any executor; each operation ends on its caller's.
class desk {
 public:
  /// Errors: throws misconfigured.
  desk(const std::filesystem::path& file, environment& in, const clocks& by);
  /// Ends what was asked. Pre: the callers' executors live.
  ~desk();
  desk(const desk&) = delete;
  desk& operator=(const desk&) = delete;

  asio::awaitable<result<record_page>> find(const record_filter& which);
  asio::awaitable<result<purge_reply>> purge(std::size_t limit);

 private:
  template <class Reply, class Work>
  asio::awaitable<result<Reply>> ask(Work work);
  void work();
  result<record_page> read_page(const record_filter& which);
  result<purge_reply> purge_some(std::size_t limit);
  std::vector<std::int64_t> choose_due(std::size_t limit, moment now, purge_reply& into);
  bool purge_chosen(std::span<const std::int64_t> due, purge_reply& into);
  bool purge_one(std::int64_t id, moment now, purge_reply& into);

  database database_;
  turnstile turnstile_;
  rows rows_;
  statement choose_;
  statement one_;
  std::int64_t purged_to_ = 0;

  std::mutex mutex_;
  std::condition_variable asked_;
  bool stopping_ = false;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace callonce::sqlite::detail
