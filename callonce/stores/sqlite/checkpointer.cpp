#include <sqlite3.h>

#include <callonce/stores/sqlite/checkpointer.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;

// Measured at five million records, 64 claims a batch: see docs/decisions. 4 MB of log are worth a
// pass; 64 MB after three passes in a row say that the lane has to help.
constexpr int pages_worth_a_pass = 1'000;
constexpr int pages_too_many = 16'000;
constexpr int passes_before_help = 3;
constexpr std::chrono::milliseconds pause_between_passes = 20ms;
// It reads the log and writes the file; pages of its own it hardly needs.
constexpr int cache_kib = 2 * 1024;

}  // namespace

checkpoint_pass checkpoint(database& over) {
  checkpoint_pass made;
  sqlite3_wal_checkpoint_v2(over.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &made.in_log,
                            &made.moved);
  return made;
}

checkpointer::checkpointer(const std::filesystem::path& file, environment& in)
    : database_(file, in, cache_kib), thread_([this] { work(); }) {}

checkpointer::~checkpointer() {
  {
    const std::lock_guard guard{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void checkpointer::committed(int log_pages) {
  const std::lock_guard guard{mutex_};
  const bool was_idle = log_pages_ < pages_worth_a_pass;
  log_pages_ = log_pages;
  if (was_idle && log_pages_ >= pages_worth_a_pass) changed_.notify_one();
}

bool checkpointer::wants_lane() {
  const std::lock_guard guard{mutex_};
  return std::exchange(wants_lane_, false);
}

void checkpointer::work() {
  std::unique_lock held{mutex_};
  int passes_too_many = 0;
  while (!stopping_) {
    if (log_pages_ < pages_worth_a_pass) {
      changed_.wait(held);
      continue;
    }
    held.unlock();
    const checkpoint_pass made = checkpoint(database_);
    held.lock();
    if (made.moved >= made.in_log) log_pages_ = 0;
    passes_too_many = made.in_log >= pages_too_many ? passes_too_many + 1 : 0;
    if (passes_too_many >= passes_before_help) {
      wants_lane_ = true;
      passes_too_many = 0;
    }
    changed_.wait_for(held, pause_between_passes, [&] { return stopping_; });
  }
}

}  // namespace callonce::sqlite::detail
