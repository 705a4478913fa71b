#include "child_process.hpp"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace callonce::exam {

child_process::child_process(const std::vector<std::string>& words, const std::string& output) {
  int to_child[2];
  int from_child[2];
  if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) {
    throw std::runtime_error{"no pipes"};
  }
  std::vector<char*> arguments;
  for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);

  pid_ = fork();
  if (pid_ == 0) {
    dup2(to_child[0], STDIN_FILENO);
    const int into = output.empty()
                         ? from_child[1]
                         : open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR);
    dup2(into, STDOUT_FILENO);
    execv(arguments.front(), arguments.data());
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  input_ = to_child[1];
  output_ = fdopen(from_child[0], "r");
}

child_process::~child_process() {
  kill();
  wait();
  std::fclose(output_);
}

void child_process::write_line(const std::string& line) {
  const std::string whole = line + '\n';
  if (write(input_, whole.data(), whole.size()) < 0) throw std::runtime_error{"the child is gone"};
}

std::string child_process::read_line() {
  std::string line;
  for (int byte = std::fgetc(output_); byte != EOF && byte != '\n'; byte = std::fgetc(output_)) {
    line += static_cast<char>(byte);
  }
  return line;
}

void child_process::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void child_process::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

int child_process::wait() {
  if (input_ >= 0) close(input_);
  input_ = -1;
  if (pid_ <= 0) return 0;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace callonce::exam
