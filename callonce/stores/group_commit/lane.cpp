#include <algorithm>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <callonce/engine/completion.hpp>
#include <callonce/stores/group_commit/lane.hpp>

namespace callonce::group_commit {
namespace {

// A server that comes back is found soon, and one that stays away is not hammered.
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{100};

// A coroutine that waits for its answer.
struct suspended : caller {
  virtual asio::any_io_executor executor() const = 0;
  virtual void resume(outcome with) = 0;
};

template <class Reply>
class suspended_for final : public suspended {
 public:
  explicit suspended_for(detail::completion<result<Reply>> resuming)
      : resuming_(std::move(resuming)) {}

  asio::any_io_executor executor() const override { return resuming_.executor(); }

  void resume(outcome with) override {
    if (with) {
      resuming_(std::get<Reply>(*std::move(with)));
    } else {
      resuming_(with.error());
    }
  }

 private:
  detail::completion<result<Reply>> resuming_;
};

suspended& suspended_of(const answer& ended) {
  return static_cast<suspended&>(*ended.who);
}

struct delivery {
  asio::any_io_executor to;
  // Whoever is resumed may be the last work of its executor and let it end, while this thread is
  // still inside the post that resumed it.
  asio::executor_work_guard<asio::any_io_executor> alive;
  answers ended;
};

// Usually all callers share one executor, or a few; with one strand a connection there are as many
// as answers, and looking further back for an equal one would cost more than it saves.
constexpr std::ptrdiff_t compared_executors = 8;

std::vector<delivery> by_executor(answers ended) {
  std::vector<delivery> made;
  for (answer& each : ended) {
    const asio::any_io_executor to = suspended_of(each).executor();
    const auto last_few =
        made.end() - std::min(compared_executors, static_cast<std::ptrdiff_t>(made.size()));
    auto same = std::find_if(last_few, made.end(),
                             [&](const delivery& earlier) { return earlier.to == to; });
    if (same == made.end()) {
      made.push_back({to, asio::make_work_guard(to), {}});
      same = std::prev(made.end());
    }
    same->ended.push_back(std::move(each));
  }
  return made;
}

}  // namespace

lane::lane(std::unique_ptr<connection> over, environment& in, std::chrono::milliseconds patience,
           limits within, std::function<void(std::size_t)> on_batch)
    : environment_(in),
      patience_(patience),
      connection_(std::move(over)),
      on_batch_(std::move(on_batch)),
      plan_(within),
      worker_([this] { work(); }),
      watcher_([this] { watch(); }) {}

lane::~lane() {
  {
    const std::lock_guard guard{mutex_};
    stopping_ = true;
  }
  has_work_.notify_all();
  worker_.join();
  has_patience_.notify_all();
  watcher_.join();
}

template <class Reply>
asio::awaitable<result<Reply>> lane::ask(call what) {
  auto start = [&](detail::completion<result<Reply>> resuming) {
    submit(std::move(what), std::make_unique<suspended_for<Reply>>(std::move(resuming)));
  };
  co_return co_await detail::suspend<result<Reply>>(start);
}

asio::awaitable<result<claim_reply>> lane::claim(const claim_request& wish) {
  return ask<claim_reply>(claim_call{wish});
}

asio::awaitable<result<write_reply>> lane::renew(const fence& by) {
  return ask<write_reply>(renew_call{by});
}

asio::awaitable<result<write_reply>> lane::complete(const fence& by,
                                                    std::shared_ptr<const stored_answer> answer) {
  return ask<write_reply>(complete_call{by, std::move(answer)});
}

asio::awaitable<result<write_reply>> lane::release(const fence& by,
                                                   std::chrono::milliseconds retention) {
  return ask<write_reply>(release_call{by, retention});
}

asio::awaitable<result<write_reply>> lane::park(const fence& by) {
  return ask<write_reply>(park_call{by});
}

asio::awaitable<result<write_reply>> lane::settle(const settlement& decision,
                                                  const settle_reason& reason) {
  return ask<write_reply>(settle_call{decision, reason});
}

void lane::submit(call what, std::unique_ptr<caller> who) {
  const steady_time patience_ends = environment_.now() + patience_;
  std::unique_lock held{mutex_};
  answers refused = plan_.submit(std::move(what), std::move(who), patience_ends);
  if (refused.empty()) {
    if (plan_.ready()) has_work_.notify_one();
    if (watched_until_ == steady_time::max()) has_patience_.notify_one();
  } else {
    hand_back(std::move(refused), held);
  }
}

// One post a batch and executor: each of them may wake a sleeping thread.
void lane::hand_back(answers ended, std::unique_lock<std::mutex>& held) {
  if (ended.empty()) return;
  held.unlock();
  for (delivery& each : by_executor(std::move(ended))) {
    asio::post(each.to, [ended_here = std::move(each.ended)]() mutable {
      for (answer& one : ended_here) suspended_of(one).resume(std::move(one.what));
    });
  }
  held.lock();
}

void lane::work() {
  std::unique_lock held{mutex_};
  for (bool good = true; good;) {
    has_work_.wait(held, [&] { return stopping_ || plan_.ready(); });
    good = plan_.ready() && send_batch(held);
  }
  hand_back(plan_.abandon(), held);
}

// False when the lane is stopping and the database does not answer.
bool lane::send_batch(std::unique_lock<std::mutex>& held) {
  const batch sending = plan_.next_batch();
  held.unlock();
  connection::results results = connection_->apply(sending);
  if (results && on_batch_) on_batch_(sending.size());
  held.lock();
  if (results) {
    hand_back(plan_.applied(*std::move(results)), held);
    return true;
  }
  const batch_fault why = results.error();
  hand_back(plan_.failed(why), held);
  return why == batch_fault::refused || recover(held);
}

bool lane::recover(std::unique_lock<std::mutex>& held) {
  for (auto pause = first_pause; !stopping_; pause = std::min(2 * pause, longest_pause)) {
    has_work_.wait_for(held, pause, [&] { return stopping_; });
    held.unlock();
    const bool usable = connection_->recover();
    held.lock();
    if (usable) return true;
  }
  return false;
}

void lane::watch() {
  std::unique_lock held{mutex_};
  for (;;) {
    hand_back(plan_.expire(environment_.now()), held);
    if (stopping_) return;
    watched_until_ = plan_.next_expiry();
    if (watched_until_ == steady_time::max()) {
      has_patience_.wait(held);
    } else {
      has_patience_.wait_until(held, watched_until_);
    }
  }
}

}  // namespace callonce::group_commit
