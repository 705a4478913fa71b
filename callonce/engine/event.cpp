#include <optional>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <callonce/engine/completion.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::detail {

// One suspended coroutine. It belongs to its alarm, so that an environment that ends ends its
// sleepers too. Whoever ends the wait first wins.
struct waiter {
  completion<event::end> resume;
  std::unique_ptr<alarm> at_deadline;

  // Posted, never called in place: the one who fires must not run the waiter's code inside its own.
  // Pre: the caller shares the waiter.
  void finish(event::end how) {
    if (!resume) return;
    const asio::any_io_executor executor = resume.executor();
    asio::post(executor, [once = std::move(resume), how]() mutable { once(how); });
    at_deadline.reset();
  }
};

event::event() = default;
event::~event() = default;

void event::fire() {
  fired_ = true;
  const std::vector<std::weak_ptr<waiter>> woken = std::move(waiters_);
  waiters_.clear();
  for (const std::weak_ptr<waiter>& each : woken) {
    if (const std::shared_ptr<waiter> alive = each.lock()) alive->finish(end::fired);
  }
}

asio::awaitable<event::end> event::wait(environment& in, steady_time deadline,
                                        std::stop_token leave) {
  if (fired_) co_return end::fired;
  if (leave.stop_requested()) co_return end::left;
  if (deadline <= in.now()) co_return end::deadline;

  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::optional<std::stop_callback<std::function<void()>>> on_leave;
  auto start = [&](completion<end> resume) {
    const auto self = std::make_shared<waiter>();
    self->resume = std::move(resume);
    std::erase_if(waiters_, [](const std::weak_ptr<waiter>& each) { return each.expired(); });
    waiters_.push_back(self);
    self->at_deadline = in.call_at(executor, deadline, [self] { self->finish(end::deadline); });
    if (leave.stop_possible()) {
      std::function<void()> request = [executor, weak = std::weak_ptr{self}] {
        asio::post(executor, [weak] {
          if (const auto alive = weak.lock()) alive->finish(end::left);
        });
      };
      on_leave.emplace(std::move(leave), std::move(request));
    }
  };
  co_return co_await suspend<end>(start);
}

asio::awaitable<void> sleep_until(environment& in, steady_time at) {
  event never;
  co_await never.wait(in, at);
}

}  // namespace callonce::detail
