#include <callonce/engine/purger.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// A batch stays in the low milliseconds, so that a claim never waits for the purger for long.
constexpr std::size_t batch_records = 500;
constexpr std::chrono::milliseconds pause_between_batches = 50ms;
constexpr std::chrono::milliseconds pause_when_clean = 5s;
// Clock corrections are far below this; a date set by hand is far above.
constexpr std::chrono::minutes jump_min{1};

}  // namespace

asio::awaitable<void> purger::run(std::stop_token stop) {
  last_steady_ = env_.now();
  last_wall_ = env_.wall();
  while (!stop.stop_requested()) {
    if (wall_jumped()) {
      tell(fact_kind::wall_jumped);
      co_return;
    }
    const bool more = co_await purge_once();
    detail::event never;
    co_await never.wait(env_, env_.now() + (more ? pause_between_batches : pause_when_clean), stop);
  }
}

asio::awaitable<bool> purger::purge_once() {
  const result<purge_reply> reply = co_await store_.purge(batch_records);
  if (!reply) {
    tell(fact_kind::store_failed);
    co_return false;
  }
  const std::uint64_t count = reply->bodies + reply->records + reply->parked;
  if (count > 0) tell(fact_kind::purged, count);
  co_return reply->more;
}

bool purger::wall_jumped() {
  const steady_time steady = env_.now();
  const auto wall = env_.wall();
  const auto drift = std::chrono::duration_cast<std::chrono::milliseconds>(
      (wall - last_wall_) -
      std::chrono::duration_cast<std::chrono::system_clock::duration>(steady - last_steady_));
  last_steady_ = steady;
  last_wall_ = wall;
  return drift > jump_min || drift < -jump_min;
}

void purger::tell(fact_kind kind, std::uint64_t count) const {
  if (observer_ == nullptr) return;
  fact what{kind, {}};
  what.count = count;
  observer_->on(what);
}

}  // namespace callonce
