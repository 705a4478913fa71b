#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <callonce/engine/blocking.hpp>
#include <callonce/engine/body_source.hpp>
#include <callonce/engine/completion.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {

// The thread on which an engine works while its callers block.
class engine_thread {
 public:
  engine_thread() : thread_([this] { io_.run(); }) {}
  ~engine_thread() {
    work_.reset();
    thread_.join();
  }
  engine_thread(const engine_thread&) = delete;
  engine_thread& operator=(const engine_thread&) = delete;

  asio::any_io_executor executor() { return io_.get_executor(); }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  std::thread thread_;
};

// One caller that waits, and what it is asked to do meanwhile: run the handler, then take the
// answer.
class blocking_call {
 public:
  using task = std::function<void()>;

  response wait() {
    for (;;) {
      std::unique_lock hold{mutex_};
      changed_.wait(hold, [&] { return todo_ || done_; });
      if (!todo_) return std::move(*done_);
      const task now = std::exchange(todo_, nullptr);
      hold.unlock();
      now();
    }
  }

  void ask(task todo) {
    const std::lock_guard hold{mutex_};
    todo_ = std::move(todo);
    changed_.notify_one();
  }

  void end(response with) {
    const std::lock_guard hold{mutex_};
    done_ = std::move(with);
    changed_.notify_one();
  }

  static asio::awaitable<void> drive(std::shared_ptr<blocking_call> self, route& over,
                                     std::shared_ptr<const handler> work, request asked) {
    answer given =
        co_await over.answer_with(std::move(work), false, std::move(asked), client_side{});
    if (given.rest) {
      co_await detail::collect(given, std::numeric_limits<std::uint64_t>::max() - 1);
    }
    self->end(std::move(given.head));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  task todo_;
  std::optional<response> done_;
};

namespace {

struct ended {
  ended() = default;
  explicit ended(outcome with) : value(std::move(with)) {}
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing): it is kept, and thrown on the other thread.
  explicit ended(std::exception_ptr why) : failure(std::move(why)) {}
  outcome value;
  std::exception_ptr failure;
};

// Runs `does` on the thread that waits in `caller`, while this coroutine sleeps.
asio::awaitable<outcome> run_on_caller(std::shared_ptr<blocking_call> caller,
                                       const blocking::handler& does, claim& won,
                                       const request& asked) {
  auto start = [&](detail::completion<ended> resume) {
    const auto shared = std::make_shared<detail::completion<ended>>(std::move(resume));
    caller->ask([shared, &does, &won, &asked] {
      auto finished = std::make_shared<ended>();
      try {
        *finished = ended{does(won, asked)};
      } catch (...) {
        *finished = ended{std::current_exception()};
      }
      const asio::any_io_executor executor = shared->executor();
      asio::post(executor, [shared, finished] { (*shared)(std::move(*finished)); });
    });
  };
  ended how = co_await detail::suspend<ended>(start);
  if (how.failure) std::rethrow_exception(how.failure);
  co_return std::move(how.value);
}

}  // namespace

std::shared_ptr<engine_thread> engine::state::own_thread() {
  const std::lock_guard hold{thread_mutex_};
  if (!thread_) thread_ = std::make_shared<engine_thread>();
  return thread_;
}

namespace blocking {

class route::impl {
 public:
  impl(engine& over, callonce::policy by, handler does)
      : does_(std::move(does)),
        route_(
            over, std::move(by),
            [](claim&, const request&) -> asio::awaitable<outcome> { co_return not_executed{}; }),
        thread_(over.shared().own_thread()) {}

  response call(request asked) {
    const auto caller = std::make_shared<blocking_call>();
    const auto work =
        std::make_shared<const callonce::handler>([this, caller](claim& won, const request& what) {
          return run_on_caller(caller, does_, won, what);
        });
    asio::co_spawn(thread_->executor(),
                   blocking_call::drive(caller, route_, work, std::move(asked)), asio::detached);
    return caller->wait();
  }

 private:
  const handler does_;
  callonce::route route_;
  const std::shared_ptr<engine_thread> thread_;
};

route::route(engine& over, callonce::policy by, handler does)
    : impl_(std::make_unique<impl>(over, std::move(by), std::move(does))) {}
route::~route() = default;

response route::operator()(request asked) {
  return impl_->call(std::move(asked));
}

}  // namespace blocking
}  // namespace callonce
