#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "tests/sim/simulation.hpp"

namespace callonce::sim {
namespace {

using namespace std::chrono_literals;

// A parked or stuck key that an operator decides: an answer that no run gave.
stored_answer decided_answer() {
  stored_answer made;
  made.status = 201;
  made.headers.add("Content-Type", "text/plain");
  made.body = std::string{"decided by an operator"};
  return made;
}

}  // namespace

template <class Trouble>
void simulation::at_random_times(unsigned count, Trouble does) {
  for (unsigned each = 0; each < count; ++each) {
    world_.at(draws_.between<world_time>(0ms, scenario_.faults_end), [this, does] {
      if (!trouble_over_) (this->*does)();
    });
  }
}

void simulation::plan_trouble() {
  // At a time, or at a step: two steps at one time are different places to die.
  if (scenario_.crashes > 0) crash_at_step_ = draws_.below(400);
  at_random_times(scenario_.crashes, &simulation::crash_some);
  at_random_times(scenario_.pauses, &simulation::pause_some);
  at_random_times(scenario_.stalls, &simulation::stall);
  at_random_times(scenario_.holds, &simulation::hold_some);
  at_random_times(scenario_.drains, &simulation::drain_some);
  at_random_times(scenario_.wall_jumps, &simulation::jump_walls);
  at_random_times(scenario_.settlements, &simulation::settle_some);
  world_.at(scenario_.faults_end, [this] { end_trouble(); });
}

simulation::server* simulation::draw_running() {
  server& drawn = *servers_[world_.random().below(servers_.size())];
  return drawn.up() ? &drawn : nullptr;
}

void simulation::crash_some() {
  server* chosen = draw_running();
  if (chosen == nullptr) return;
  checker_.trace([&] { return "CRASH of node " + std::to_string(chosen->sender); });
  crash(*chosen);
  world_.after(world_.random().between<world_time>(0ms, 4s), [this, chosen] {
    if (!chosen->up()) start(*chosen);
  });
}

void simulation::pause_some() {
  server* chosen = draw_running();
  if (chosen == nullptr) return;
  checker_.trace([&] { return "PAUSE of node " + std::to_string(chosen->sender); });
  clean_[chosen->sender] = false;
  chosen->machine->pause();
  const world_time most = 3 * scenario_.policy.lease;
  world_.after(world_.random().between<world_time>(100ms, most), [this, chosen] {
    checker_.trace([&] { return "node " + std::to_string(chosen->sender) + " goes on"; });
    chosen->machine->resume();
  });
}

void simulation::stall() {
  const world_time lasts = world_.random().between<world_time>(50ms, 4s);
  checker_.trace([&] { return "STALL of the store, " + std::to_string(lasts / 1ms) + " ms"; });
  weather_.stall_until(world_.now() + lasts);
}

void simulation::hold_some() {
  const identity row = identify(draw_customer());
  checker_.trace([&] { return "HOLD of " + checker_.name_of(row); });
  rows_.hold(row);
  const world_time most = scenario_.faults_end - world_.now();
  const world_time lasts = world_.random().between<world_time>(1ms, 5s);
  world_.after(std::min(lasts, most), [this, row] {
    checker_.trace([&] { return "free: " + checker_.name_of(row); });
    rows_.free(row);
  });
}

void simulation::jump_walls() {
  const world_time by = world_.random().pick<world_time>({-26h, -1h, 90s, 2h, 26h});
  checker_.trace([&] { return "WALL CLOCKS jump by " + std::to_string(by / 1s) + " s"; });
  if (world_.random().chance(50)) wall_jumped_ += by;
  for (const auto& each : servers_) each->machine->jump_wall(by);
}

void simulation::drain_some() {
  server* chosen = draw_running();
  if (chosen == nullptr) return;
  checker_.trace([&] { return "DRAIN of node " + std::to_string(chosen->sender); });
  asio::co_spawn(chosen->machine->executor(), drain(*chosen), asio::detached);
}

asio::awaitable<void> simulation::drain(server& leaving) {
  leaving.runs->drain();
  const steady_time deadline =
      leaving.machine->now() + world_.random().between<world_time>(0ms, 8s);
  const bool empty = co_await leaving.runs->drained(deadline);
  if (empty && leaving.runs->runs() != 0) checker_.broken(nullptr, "drained, and a run goes on");
  if (empty) {
    leave_when_idle(leaving, leaving.sender);
  } else {
    world_.after(1ms, [this, &leaving, sender = leaving.sender] {
      if (leaving.sender == sender && leaving.up()) {
        crash(leaving);
        start(leaving);
      }
    });
  }
}

// The last run has ended; the last connections are still being written to.
void simulation::leave_when_idle(server& leaving, unsigned sender) {
  world_.after(1ms, [this, &leaving, sender] {
    if (leaving.sender != sender || !leaving.up()) return;
    if (leaving.open > 0) {
      leave_when_idle(leaving, sender);
      return;
    }
    checker_.trace([&] { return "node " + std::to_string(sender) + " has drained"; });
    leaving.purging_ends.request_stop();
    if (leaving.purges) retired_.push_back(std::move(leaving.purges));
    leaving.charges = nullptr;
    leaving.runs = nullptr;
    start(leaving);
  });
}

void simulation::settle_some() {
  asio::co_spawn(store_side_.executor(), settle(identify(draw_customer())), asio::detached);
}

asio::awaitable<void> simulation::settle(identity which) {
  constexpr unsigned operators = 1000;
  store& by_hand = checker_.watch(rows_, operators);
  record_filter exact;
  exact.exact = which;
  const result<record_page> page = co_await by_hand.find(exact);
  if (!page || page->records.empty()) co_return;
  const record& found = page->records.front();
  settlement decision;
  decision.id = which;
  decision.expected_attempt = found.attempt;
  decision.claim_id = new_claim_id(store_side_);
  decision.released_retention = scenario_.policy.released_retention;
  if (world_.random().chance(50)) {
    decision.answer = std::make_shared<const stored_answer>(decided_answer());
  }
  const settle_reason why{"operator", "simulated"};
  co_await by_hand.settle(decision, why);
}

// The weather clears, everybody wakes, everything that is down comes up again.
void simulation::end_trouble() {
  checker_.trace([] { return std::string{"TROUBLE IS OVER"}; });
  trouble_over_ = true;
  weather_.calm();
  application_.behave();
  for (const auto& each : servers_) {
    each->machine->resume();
    if (!each->up()) start(*each);
  }
}

}  // namespace callonce::sim
