#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <sys/types.h>

namespace callonce::exam {

/// A program run beside the test, with its input and output in hand. Killed when it goes.
class child_process {
 public:
  /// The output goes into the file `output`, or comes line by line from `read_line`.
  child_process(const std::vector<std::string>& words, const std::string& output = {});
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  void write_line(const std::string& line);
  std::string read_line();
  void kill();
  void signal(int number);
  /// Closes its input and waits for its end. Post: its exit code.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  std::FILE* output_ = nullptr;
};

}  // namespace callonce::exam
