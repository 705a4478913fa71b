#pragma once

// Internal: fairness between the writers of one file.

#include <callonce/engine/environment.hpp>
#include <callonce/stores/sqlite/place.hpp>

namespace callonce::sqlite::detail {

/// Two lock files beside the database. SQLite alone lets a busy writer starve a quiet one: whoever
/// has just committed is the first to ask again. Here one waits in `queue` while another writes
/// under `run`, and whoever comes again waits behind it. It is fairness only; BEGIN IMMEDIATE
/// remains the arbiter, and the kernel frees both files when a process dies.
/// Threads: one object, one thread.
class turnstile {
 public:
  /// Errors: throws misconfigured.
  turnstile(const std::filesystem::path& database, environment& in);

  /// Waits for its turn; after half a second it goes on without, for then somebody is stopped or
  /// stuck in there.
  void enter();
  void leave();

 private:
  bool wait_for(const descriptor& file, steady_time deadline) const;

  environment& environment_;
  descriptor queue_;
  descriptor run_;
};

/// One turn.
class turn {
 public:
  explicit turn(turnstile& at) : at_(at) { at_.enter(); }
  ~turn() { at_.leave(); }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

 private:
  turnstile& at_;
};

}  // namespace callonce::sqlite::detail
