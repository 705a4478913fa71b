#include <cerrno>
#include <system_error>

#include <boost/asio/steady_timer.hpp>
#include <sys/random.h>

#include <callonce/engine/environment.hpp>

namespace callonce {
namespace {

class timer_alarm final : public alarm {
 public:
  timer_alarm(const asio::any_io_executor& executor, steady_time at, std::function<void()> action) {
    const auto made = std::make_shared<pending>(executor, at, std::move(action));
    pending_ = made;
    made->timer.async_wait([call = made](const boost::system::error_code& fault) {
      // Withdrawn between expiry and this handler: the action is gone although the wait succeeded.
      if (!fault && call->action) std::exchange(call->action, nullptr)();
    });
  }

  ~timer_alarm() override {
    const std::shared_ptr<pending> call = pending_.lock();
    if (!call) return;
    call->action = nullptr;
    call->timer.cancel();
  }

 private:
  struct pending {
    pending(const asio::any_io_executor& executor, steady_time at, std::function<void()> what)
        : timer(executor, at), action(std::move(what)) {}
    asio::steady_timer timer;
    std::function<void()> action;
  };
  // The timer's own handler keeps the call, so that it goes with the executor's context.
  std::weak_ptr<pending> pending_;
};

class real_environment final : public environment {
 public:
  steady_time now() const override { return std::chrono::steady_clock::now(); }

  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::now();
  }

  void fill_random(std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t filled = getrandom(bytes.data(), bytes.size(), 0);
      if (filled < 0 && errno == EINTR) continue;
      if (filled < 0) throw std::system_error{errno, std::generic_category(), "getrandom"};
      bytes = bytes.subspan(static_cast<std::size_t>(filled));
    }
  }

  std::unique_ptr<alarm> call_at(const asio::any_io_executor& executor, steady_time at,
                                 std::function<void()> action) override {
    return std::make_unique<timer_alarm>(executor, at, std::move(action));
  }
};

}  // namespace

environment& system_environment() {
  static real_environment instance;
  return instance;
}

claim_id new_claim_id(environment& from) {
  claim_id made{};
  from.fill_random(made);
  return made;
}

}  // namespace callonce
