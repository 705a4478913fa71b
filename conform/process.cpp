#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include <conform/process.hpp>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace conform {

bool process::start(const std::vector<std::string>& command, const std::filesystem::path& output) {
  kill();
  code_.reset();
  std::vector<char*> arguments;
  for (const auto& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  const std::string file = output.string();
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ != 0) return id_ > 0;
  // The child of a program with threads: only calls that are safe after fork.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  const int into = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(into, STDOUT_FILENO);
  ::dup2(into, STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

bool process::running() {
  return id_ > 0 && !wait(std::chrono::milliseconds{0});
}

void process::signal(int number) {
  if (running()) ::kill(id_, number);
}

void process::kill() {
  if (!running()) return;
  ::kill(id_, SIGKILL);
  int status = 0;
  ::waitpid(id_, &status, 0);
  code_ = 128 + SIGKILL;
}

std::optional<int> process::wait(std::chrono::milliseconds patience) {
  if (id_ <= 0) return std::nullopt;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!code_) {
    int status = 0;
    if (::waitpid(id_, &status, WNOHANG) == id_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (std::chrono::steady_clock::now() >= until) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }
  return code_;
}

command_result run_command(const std::vector<std::string>& command,
                           const std::filesystem::path& output) {
  process child;
  command_result result;
  if (!child.start(command, output)) return result;
  result.code = child.wait(std::chrono::seconds{10}).value_or(-1);
  child.kill();
  result.output = file_text(output);
  return result;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace conform
