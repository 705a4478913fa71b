#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace conform {

/// A child process, its output in a file; killed when its owner goes or this program ends.
///
/// Threads: one at a time; the child lives no longer than the thread that started it.
class process {
 public:
  process() = default;
  ~process() { kill(); }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  /// Errors: false when no process could be made; a program that cannot be executed exits with 127.
  bool start(const std::vector<std::string>& command, const std::filesystem::path& output);
  bool running();
  void signal(int number);
  /// SIGKILL and wait.
  void kill();
  /// The exit code once the process ends within `patience`; 128 + N after signal N.
  std::optional<int> wait(std::chrono::milliseconds patience);
  pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
  std::optional<int> code_;
};

/// What a finished command left behind.
struct command_result {
  int code = -1;  ///< -1 when it did not end in time
  std::string output;
};

/// Runs a command to its end, at most ten seconds.
command_result run_command(const std::vector<std::string>& command,
                           const std::filesystem::path& output);

std::string file_text(const std::filesystem::path& path);

}  // namespace conform
