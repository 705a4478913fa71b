#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <callonce/engine/environment.hpp>
#include <callonce/testkit/random.hpp>

namespace callonce::testkit {

class node;

/// Time since a world began: the truth, which no node can read.
using world_time = std::chrono::nanoseconds;

/// How a node's clocks differ from the truth.
struct node_clock {
  world_time steady_offset{std::chrono::hours{1}};  ///< What its steady clock shows at the start.
  int drift_ppm = 0;                                ///< How much too fast its steady clock runs.
  /// What its wall clock shows at the start; it jumps by hand only.
  std::chrono::system_clock::duration wall_offset = std::chrono::hours{24 * 365 * 50};
};

namespace detail {

/// One ready piece of work; destroyed unrun, it destroys the coroutine it would resume.
struct job {
  job() = default;
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  virtual ~job() = default;
  virtual void run() = 0;
};

template <class Function>
struct job_of final : job {
  explicit job_of(Function&& from) : function(std::move(from)) {}
  void run() override { std::move(function)(); }
  Function function;
};

/// Pending calls by time, and by the order in which they were asked for.
class agenda {
 public:
  using ticket = std::pair<world_time, std::uint64_t>;

  ticket add(world_time when, std::function<void()> action) {
    const ticket made{when, ++last_};
    calls_.emplace(made, std::move(action));
    return made;
  }
  void withdraw(ticket which);
  world_time next() const {
    return calls_.empty() ? world_time::max() : calls_.begin()->first.first;
  }
  std::function<void()> take_next();
  bool empty() const { return calls_.empty(); }
  void clear();

 private:
  std::map<ticket, std::function<void()>> calls_;
  std::uint64_t last_ = 0;
};

}  // namespace detail

/// Nodes, their messages and their time, all moved by one thread and one seed: equal seeds, equal
/// histories. Nothing happens outside `step`.
class world {
 public:
  explicit world(std::uint64_t seed);
  /// Pre: no node is left.
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  world_time now() const noexcept { return now_; }
  random_stream& random() noexcept { return random_; }

  /// Calls `action` between two steps, outside all nodes: a message arrives, a node crashes.
  void at(world_time when, std::function<void()> action) { agenda_.add(when, std::move(action)); }
  void after(world_time delay, std::function<void()> action) {
    at(now_ + delay, std::move(action));
  }

  /// Does one piece of ready work, chosen by the seed; when nothing is ready, time moves on to what
  /// comes next. Post: false when nothing will ever happen again, or not before `until`; then time
  /// stands at `until`.
  bool step(world_time until);
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  friend class node;

  node* choose_ready();
  world_time next_event() const;

  random_stream random_;
  world_time now_{0};
  detail::agenda agenda_;
  std::vector<node*> nodes_;
  asio::execution_context context_;
  std::uint64_t steps_ = 0;
};

/// One machine: its clocks, its randomness and everything that runs on it, one piece at a time.
class node final : public environment {
 public:
  class executor_type;

  node(world& in, node_clock clock);
  ~node() override;

  asio::any_io_executor executor();

  steady_time now() const override;
  std::chrono::system_clock::time_point wall() const override;
  void fill_random(std::span<std::byte> bytes) override;
  std::unique_ptr<alarm> call_at(const asio::any_io_executor& executor, steady_time at,
                                 std::function<void()> action) override;

  /// Stops as by SIGSTOP: its clocks go on, nothing runs.
  void pause() noexcept { paused_ = true; }
  void resume() noexcept { paused_ = false; }
  bool paused() const noexcept { return paused_; }

  /// Everything that runs, waits or sleeps here is gone at once; what it had sent still arrives.
  /// The node itself can be used again. Pre: called from outside its own work.
  void crash();

  void jump_wall(std::chrono::system_clock::duration by) noexcept { clock_.wall_offset += by; }

 private:
  friend class world;
  class pending_call;

  bool has_ready() const;
  void run_one();
  void push(std::unique_ptr<detail::job> made);
  world_time truth_of(steady_time local) const;

  world& world_;
  node_clock clock_;
  random_stream random_;
  std::vector<std::unique_ptr<detail::job>> ready_;
  detail::agenda agenda_;
  bool paused_ = false;
};

/// A node as Asio sees it.
class node::executor_type {
 public:
  explicit executor_type(node& of) noexcept : node_(&of) {}

  asio::execution_context& query(asio::execution::context_t) const noexcept {
    return node_->world_.context_;
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  executor_type require(asio::execution::blocking_t::never_t) const noexcept { return *this; }

  template <class Function>
  void execute(Function function) const {
    node_->push(std::make_unique<detail::job_of<Function>>(std::move(function)));
  }

  friend bool operator==(const executor_type& left, const executor_type& right) noexcept {
    return left.node_ == right.node_;
  }
  friend bool operator!=(const executor_type& left, const executor_type& right) noexcept {
    return left.node_ != right.node_;
  }

 private:
  node* node_;
};

}  // namespace callonce::testkit
