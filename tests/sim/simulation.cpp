#include "tests/sim/simulation.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace callonce::sim {
namespace {

using namespace std::chrono_literals;
using testkit::node_clock;

// Steady clocks of real machines drift by far less; a tenth of the lease is kept for it.
constexpr int drift_ppm_max = 5000;

node_clock draw_clock(random_stream& from) {
  node_clock drawn;
  drawn.steady_offset = from.between<world_time>(1h, 1000h);
  drawn.drift_ppm = static_cast<int>(from.below(2 * drift_ppm_max + 1)) - drift_ppm_max;
  drawn.wall_offset += from.between<std::chrono::seconds>(-24h, 24h);
  return drawn;
}

}  // namespace

simulation::simulation(std::uint64_t seed, std::string_view world_name, std::string_view twin)
    : draws_(seed),
      scenario_(draw_scenario(world_name, draws_)),
      world_(draws_.next()),
      store_side_(world_, draw_clock(draws_)),
      outside_(world_, draw_clock(draws_)),
      memory_(store_side_, [this] { return store_now(); }),
      twin_(testkit::make_broken_store(twin, memory_)),
      rows_(twin_ ? *twin_ : memory_, scenario_.does.co_commits > 0),
      weather_(world_, scenario_.faults),
      checker_(world_, [this] { return store_now(); }),
      application_(world_, checker_, scenario_) {
  for (unsigned tenant = 0; tenant < scenario_.tenants; ++tenant) {
    for (unsigned key = 0; key < scenario_.keys; ++key) {
      customers_.push_back({"account-" + std::to_string(tenant), "key-" + std::to_string(key)});
    }
  }
  for (unsigned each = 0; each < scenario_.nodes; ++each) {
    auto made = std::make_unique<server>();
    made->machine = std::make_unique<testkit::node>(world_, draw_clock(draws_));
    servers_.push_back(std::move(made));
    start(*servers_.back());
  }
}

simulation::~simulation() {
  outside_.crash();
  for (const auto& each : servers_) crash(*each);
  store_side_.crash();
}

// The store's own clocks: leases by one that nobody sets, retention by one that jumps.
moment simulation::store_now() const {
  const auto truth = std::chrono::floor<store_clock::duration>(world_.now());
  const auto jumped = std::chrono::floor<store_clock::duration>(wall_jumped_);
  return {instant{truth + 5h}, instant{truth + jumped + 24h * 10000}};
}

store& simulation::wire(unsigned sender, testkit::node& caller, bool with_effect) {
  store& watched = checker_.watch(rows_, sender, with_effect);
  return wires_.emplace_back(watched, world_, weather_, caller, store_side_);
}

void simulation::start(server& down) {
  testkit::node& machine = *down.machine;
  down.sender = static_cast<unsigned>(clean_.size());
  clean_.push_back(true);
  store& over = wire(down.sender, machine, false);
  down.at = {down.sender, &machine, &wire(down.sender, machine, true)};
  observer& tell = checker_.facts_of(down.sender);
  down.runs = std::make_unique<engine>(over, machine, &tell, scenario_.limits);
  auto* application = &application_;
  down.charges =
      std::make_unique<route>(*down.runs, policy{scenario_.policy},
                              [application, at = down.at](claim& won, const request& asked) {
                                return application->run(at, won, asked);
                              });
  down.open = 0;
  if (scenario_.purges) {
    down.purges = std::make_unique<purger>(over, machine, &tell);
    down.purging_ends = std::stop_source{};
    asio::co_spawn(machine.executor(), down.purges->run(down.purging_ends.get_token()),
                   asio::detached);
  }
}

void simulation::crash(server& up) {
  if (!up.up()) return;
  clean_[up.sender] = false;
  up.machine->crash();
  up.purges = nullptr;
  up.charges = nullptr;
  up.runs = nullptr;
}

bool simulation::run_until_idle(const std::size_t& busy, world_time until) {
  while (busy > 0 && !checker_.failed()) {
    if (world_.steps() >= crash_at_step_) {
      crash_at_step_ = no_step;
      if (!trouble_over_) crash_some();
    }
    if (!world_.step(until)) return busy == 0;
  }
  return true;
}

bool simulation::run() {
  plan_trouble();
  const store_faults& faults = scenario_.faults;
  const bool healthy =
      faults.unavailable + faults.lost_request + faults.lost_reply + faults.late + faults.slow ==
          0 &&
      scenario_.stalls == 0 && scenario_.holds == 0;
  if (healthy) checker_.expect_kept([this](unsigned sender) { return clean_[sender]; });
  clients_left_ = scenario_.clients;
  for (unsigned each = 0; each < scenario_.clients; ++each) {
    asio::co_spawn(outside_.executor(), client(), asio::detached);
  }
  constexpr world_time patience = 3min;
  if (!run_until_idle(clients_left_, scenario_.faults_end + patience)) {
    checker_.broken(nullptr, "a client was never answered");
  }
  if (!trouble_over_) end_trouble();

  // Every key must be answered for good: after the longest run, its farewell and its lease.
  const policy_settings& is = scenario_.policy;
  const world_time bound = is.timeout + is.detached_max + is.lease + is.wait + 10s;
  probes_left_ = customers_.size();
  for (const customer& each : customers_) {
    asio::co_spawn(outside_.executor(), probe(each), asio::detached);
  }
  if (!run_until_idle(probes_left_, world_.now() + bound)) {
    checker_.broken(nullptr, "a key has not settled");
  }
  const std::size_t for_the_rest = 1;
  run_until_idle(for_the_rest, world_.now() + bound);
  if (!checker_.failed()) check_slots();

  const bool prompt = faults.late == 0 && faults.slow == 0 && faults.timeout == 100ms &&
                      scenario_.stalls == 0 && scenario_.holds == 0 &&
                      scenario_.limits.store_patience >= 1s;
  checker_.ends([&](unsigned sender) { return prompt && clean_[sender]; });
  return !checker_.failed();
}

// Whatever has ended has given its slots back.
void simulation::check_slots() {
  const bool all_end = scenario_.does.never_ends == 0 || scenario_.obeys_lost;
  for (const auto& each : servers_) {
    if (!each->up()) continue;
    if (each->runs->waiters() != 0) checker_.broken(nullptr, "a wait slot was never given back");
    if (!all_end) continue;
    if (each->runs->runs() != 0) checker_.broken(nullptr, "a run never ended");
    if (each->runs->detached() != 0)
      checker_.broken(nullptr, "a detached slot was never given back");
  }
}

}  // namespace callonce::sim
