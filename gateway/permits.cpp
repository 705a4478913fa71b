#include <utility>

#include <gateway/permits.hpp>

#include <callonce/engine/event.hpp>

namespace callonce::gateway {

// One who waits. Its end, also by the coroutine's destruction, loses no permit.
struct permits::waiter {
  explicit waiter(permits& of) : at(of), place(of.waiting_.insert(of.waiting_.end(), this)) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    if (!granted) {
      at.waiting_.erase(place);
    } else if (!taken) {
      at.give_back();
    }
  }

  permits& at;
  std::list<waiter*>::iterator place;
  detail::event turn;
  bool granted = false;
  bool taken = false;
};

bool permits::try_take() noexcept {
  if (free_ == 0) return false;
  --free_;
  return true;
}

asio::awaitable<bool> permits::take(environment& in, steady_time deadline, std::stop_token leave) {
  if (try_take()) co_return true;
  waiter self{*this};
  co_await self.turn.wait(in, deadline, std::move(leave));
  self.taken = self.granted;  // a permit that came together with the deadline counts
  co_return self.taken;
}

void permits::give_back() {
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  waiter* const next = waiting_.front();
  waiting_.pop_front();
  next->granted = true;
  next->turn.fire();
}

}  // namespace callonce::gateway
