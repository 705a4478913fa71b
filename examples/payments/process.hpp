#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace payments {

/// A program started as a child in its own process group. It never outlives this process.
/// Pre: made, and used, by the thread that lives longest. Threads: one.
class process {
 public:
  /// Starts it; what it writes is appended to `log`. Errors: std::system_error.
  process(const std::vector<std::string>& command, const std::filesystem::path& log);
  /// Kills it if it still runs.
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  pid_t id() const { return id_; }
  /// Its exit code once it has ended (128 + signal when it was killed), nothing while it runs.
  std::optional<int> ended();
  /// Waits up to `patience` for its end.
  std::optional<int> wait(std::chrono::milliseconds patience);
  /// SIGTERM; SIGKILL when it has not ended within `grace`. Post: it has ended. Returns its exit
  /// code.
  int stop(std::chrono::milliseconds grace);
  /// SIGKILL. Post: it has ended.
  void kill();

 private:
  pid_t id_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace payments
