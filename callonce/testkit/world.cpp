#include <algorithm>
#include <cstring>

#include <callonce/testkit/world.hpp>

namespace callonce::testkit {
namespace detail {

void agenda::withdraw(ticket which) {
  const auto found = calls_.find(which);
  if (found == calls_.end()) return;
  // Destroyed only after it has left the map: what it owns may withdraw further calls.
  const std::function<void()> last = std::move(found->second);
  calls_.erase(found);
}

std::function<void()> agenda::take_next() {
  std::function<void()> taken = std::move(calls_.begin()->second);
  calls_.erase(calls_.begin());
  return taken;
}

void agenda::clear() {
  while (!calls_.empty()) take_next();
}

}  // namespace detail

world::world(std::uint64_t seed) : random_(seed) {}

world::~world() = default;

node* world::choose_ready() {
  std::size_t seen = 0;
  node* chosen = nullptr;
  for (node* each : nodes_) {
    if (each->has_ready() && random_.below(++seen) == 0) chosen = each;
  }
  return chosen;
}

world_time world::next_event() const {
  world_time next = agenda_.next();
  for (const node* each : nodes_) {
    // A paused node does nothing, so what comes due there moves no time.
    if (!each->paused_) next = std::min(next, each->agenda_.next());
  }
  return next;
}

bool world::step(world_time until) {
  // A busy machine: work is ready, and yet a little time passes first.
  constexpr world_time slow_max = std::chrono::milliseconds{2};
  if (agenda_.next() > now_) {
    node* chosen = choose_ready();
    if (chosen != nullptr && random_.below(32) == 0) {
      const world_time next = next_event();
      if (next > now_ && next - now_ < slow_max && next < until) {
        now_ = next;
        return true;
      }
    }
    if (chosen != nullptr) {
      ++steps_;
      chosen->run_one();
      return true;
    }
    const world_time next = next_event();
    if (next >= until) {
      now_ = std::max(now_, until);
      return false;
    }
    now_ = std::max(now_, next);
    return true;
  }
  ++steps_;
  agenda_.take_next()();
  return true;
}

node::node(world& in, node_clock clock) : world_(in), clock_(clock), random_(in.random().next()) {
  world_.nodes_.push_back(this);
}

node::~node() {
  crash();
  std::erase(world_.nodes_, this);
}

asio::any_io_executor node::executor() {
  return executor_type{*this};
}

steady_time node::now() const {
  const world_time truth = world_.now_;
  return steady_time{truth + truth / 1'000'000 * clock_.drift_ppm + clock_.steady_offset};
}

// The first instant of the truth at which this node's clock shows `local`, or a little later.
world_time node::truth_of(steady_time local) const {
  if (local == steady_time::max()) return world_time::max();
  const world_time shown = local.time_since_epoch() - clock_.steady_offset;
  world_time truth = shown - shown / 1'000'000 * clock_.drift_ppm;
  const auto shows = [&](world_time at) { return at + at / 1'000'000 * clock_.drift_ppm; };
  while (shows(truth) < shown) truth += std::max<world_time>(shown - shows(truth), world_time{1});
  return truth;
}

std::chrono::system_clock::time_point node::wall() const {
  return std::chrono::system_clock::time_point{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(world_.now_) +
      clock_.wall_offset};
}

void node::fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t word = random_.next();
    const std::size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(bytes.data(), &word, count);
    bytes = bytes.subspan(count);
  }
}

class node::pending_call final : public alarm {
 public:
  pending_call(node& on, detail::agenda::ticket which) : on_(on), which_(which) {}
  ~pending_call() override { on_.agenda_.withdraw(which_); }

 private:
  node& on_;
  detail::agenda::ticket which_;
};

std::unique_ptr<alarm> node::call_at(const asio::any_io_executor&, steady_time at,
                                     std::function<void()> action) {
  const world_time when = std::max(truth_of(at), world_.now_);
  return std::make_unique<pending_call>(*this, agenda_.add(when, std::move(action)));
}

void node::push(std::unique_ptr<detail::job> made) {
  ready_.push_back(std::move(made));
}

bool node::has_ready() const {
  return !paused_ && (!ready_.empty() || agenda_.next() <= world_.now_);
}

void node::run_one() {
  const bool due = agenda_.next() <= world_.now_;
  if (due && (ready_.empty() || world_.random_.below(2) == 0)) {
    const std::function<void()> action = agenda_.take_next();
    action();
    return;
  }
  // In order, as every executor that runs one thread does it.
  const std::unique_ptr<detail::job> next = std::move(ready_.front());
  ready_.erase(ready_.begin());
  next->run();
}

void node::crash() {
  // What is destroyed may ask for more work here: that goes the same way.
  while (!ready_.empty() || !agenda_.empty()) {
    const std::vector<std::unique_ptr<detail::job>> gone = std::move(ready_);
    ready_.clear();
    agenda_.clear();
  }
  paused_ = false;
}

}  // namespace callonce::testkit
