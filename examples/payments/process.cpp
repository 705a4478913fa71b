#include <system_error>
#include <thread>

#include <examples/payments/process.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace payments {
namespace {

[[noreturn]] void become(char* const* arguments, int log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::setpgid(0,
            0);  // Ctrl-C in the terminal is for the parent alone, which stops its children itself
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  constexpr char message[] = "cannot be executed\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, sizeof message - 1);
  ::_exit(127);
}

}  // namespace

process::process(const std::vector<std::string>& command, const std::filesystem::path& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), log.string());
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) become(arguments.data(), file, parent);
  const int fault = errno;
  ::close(file);
  if (id_ < 0) throw std::system_error(fault, std::generic_category(), "fork");
}

process::~process() {
  kill();
}

std::optional<int> process::ended() {
  return wait(std::chrono::milliseconds(0));
}

std::optional<int> process::wait(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!exit_code_) {
    int status = 0;
    if (::waitpid(id_, &status, WNOHANG) == id_)
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    else if (std::chrono::steady_clock::now() >= until)
      break;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return exit_code_;
}

int process::stop(std::chrono::milliseconds grace) {
  if (!ended()) ::kill(id_, SIGTERM);
  if (!wait(grace)) kill();
  return exit_code_.value_or(-1);
}

void process::kill() {
  if (ended()) return;
  ::kill(id_, SIGKILL);
  int status = 0;
  if (::waitpid(id_, &status, 0) == id_) exit_code_ = 128 + SIGKILL;
}

}  // namespace payments
