#pragma once

// Internal: moves the write-ahead log into the database file.

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <callonce/stores/sqlite/database.hpp>

namespace callonce::sqlite::detail {

/// A thread with its own connection, so that no commit pays for a checkpoint. Under load its passes
/// never reach the log's end, and the log would grow for ever: then the lane makes one short pass
/// itself, between two batches, while nobody writes, and the log starts anew.
/// Threads: called by the lane.
class checkpointer {
 public:
  /// Errors: throws misconfigured.
  checkpointer(const std::filesystem::path& file, environment& in);
  ~checkpointer();
  checkpointer(const checkpointer&) = delete;
  checkpointer& operator=(const checkpointer&) = delete;

  /// A commit has left this many pages in the log.
  void committed(int log_pages);
  /// Whether the lane shall make a pass now. Post: false until it is wanted again.
  bool wants_lane();

 private:
  void work();

  database database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool wants_lane_ = false;
  int log_pages_ = 0;
  std::thread thread_;
};

/// How far a pass got, in pages.
struct checkpoint_pass {
  int in_log = 0;
  int moved = 0;
};

/// Moves what can be moved without waiting for anybody.
checkpoint_pass checkpoint(database& over);

}  // namespace callonce::sqlite::detail
