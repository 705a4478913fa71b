// `callonce serve` from the same objects, with an observer that ends or stops the process at a
// fact: CALLONCE_FAULT="kill completed" or "stop dispatched". Without it, an ordinary gateway,
// except that SIGUSR1 sets its wall clock a day forward and SIGUSR2 a day back.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gateway/config.hpp>
#include <gateway/gateway.hpp>
#include <gateway/log.hpp>
#include <unistd.h>

#include <callonce/engine/environment.hpp>
#include <callonce/engine/observer.hpp>

namespace {

class fault_at final : public callonce::observer {
 public:
  explicit fault_at(const char* asked) {
    if (asked == nullptr) return;
    std::istringstream words{asked};
    std::string what;
    words >> what >> fact_;
    if (what != "kill" && what != "stop") throw std::runtime_error("CALLONCE_FAULT: kill or stop");
    signal_ = what == "kill" ? SIGKILL : SIGSTOP;
  }

  void on(const callonce::fact& what) override {
    if (signal_ == 0 || to_string(what.kind) != fact_) return;
    const int once = std::exchange(signal_, 0);
    ::kill(::getpid(), once);
  }

 private:
  std::string fact_;
  int signal_ = 0;
};

std::atomic<int> days_off = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

// The host's clocks, but somebody sets the date.
class dated_environment final : public callonce::environment {
 public:
  dated_environment() {
    std::signal(SIGUSR1, [](int) { ++days_off; });
    std::signal(SIGUSR2, [](int) { --days_off; });
  }

  callonce::steady_time now() const override { return host_.now(); }
  std::chrono::system_clock::time_point wall() const override {
    return host_.wall() + std::chrono::days{days_off.load()};
  }
  void fill_random(std::span<std::byte> bytes) override { host_.fill_random(bytes); }
  std::unique_ptr<callonce::alarm> call_at(const boost::asio::any_io_executor& executor,
                                           callonce::steady_time at,
                                           std::function<void()> action) override {
    return host_.call_at(executor, at, std::move(action));
  }

 private:
  callonce::environment& host_ = callonce::system_environment();
};

}  // namespace

int main(int count, char** words) {
  if (count != 4 || std::string{words[1]} != "serve" || std::string{words[2]} != "--config") {
    std::cerr << "usage: fault-gateway serve --config FILE\n";
    return 1;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const auto read = callonce::gateway::load_file(words[3]);
    for (const std::string& line : read.mistakes) std::cerr << line << '\n';
    if (!read.mistakes.empty()) return 1;
    const callonce::gateway::log lines{read.value.log, STDOUT_FILENO};
    fault_at observer{std::getenv("CALLONCE_FAULT")};
    callonce::gateway::start_options with;
    with.also_tell = &observer;
    dated_environment dated;
    callonce::gateway::gateway serving{read.value, lines, with, dated};
    return static_cast<int>(serving.run());
  } catch (const std::runtime_error& fault) {
    std::cerr << "fault-gateway: " << fault.what() << '\n';
    return 2;
  }
}
