#include "tests/sim/scenario.hpp"

#include <stdexcept>

namespace callonce::sim {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

unsigned up_to(random_stream& from, unsigned most) {
  return static_cast<unsigned>(from.below(most + 1));
}

void draw_policy(random_stream& from, policy_settings& is) {
  is.name = "charge";
  is.scope = scope_from_header("X-Account");
  is.key = key_demand::required;
  is.lease = from.pick({2000ms, 2000ms, 3000ms, 5000ms});
  is.timeout = from.pick({500ms, 1500ms, 1500ms, 4000ms, 8000ms});
  is.wait = from.pick({0ms, 0ms, 200ms, 1500ms, 6000ms});
  is.detached_max = from.pick({1000ms, 4000ms, 10000ms});
  is.readback = from.pick({0ms, 100ms, 500ms});
  is.park_on_lapse = from.chance(25);
  is.response_body_max = from.pick<std::uint64_t>({0, 64, 4096, 4096});
  is.retention = from.pick({milliseconds{1h}, milliseconds{1h}, 1000ms, 4000ms});
  is.key_retention = is.retention * from.pick({1, 2, 7});
  is.on_mismatch = from.pick({422, 422, 400, 409});
  is.on_in_progress = from.pick({409, 409, 425});
  if (from.chance(20)) {
    using rule = outcome_rule;
    is.outcome[from.pick({201, 402, 503, 4, 5})] =
        from.pick({rule::complete, rule::release, rule::keep});
  }
  is.released_retention = from.pick({milliseconds{1h}, milliseconds{1min}, 500ms});
}

void draw_limits(random_stream& from, engine_limits& limits) {
  limits.wait_slots = from.pick<std::size_t>({0, 1, 1000, 1000});
  limits.detached_slots = from.pick<std::size_t>({1, 256, 256, 256});
  limits.unrecorded_max = from.pick<std::size_t>({0, 1, 1000, 1000});
  limits.finished_bytes_max = from.pick<std::size_t>({0, 1000, 1U << 20, 1U << 20});
  limits.store_patience = from.pick({300ms, 1000ms, 5000ms});
}

void draw_faults(random_stream& from, store_faults& faults) {
  faults.timeout = from.pick({100ms, 100ms, 1000ms, 3000ms});
  if (from.chance(30)) return;
  const unsigned level = from.pick({2U, 5U, 15U, 40U});
  faults.unavailable = up_to(from, level);
  faults.lost_request = up_to(from, level);
  faults.lost_reply = up_to(from, level);
  if (from.chance(50)) faults.late = up_to(from, level);
  if (from.chance(50)) faults.slow = up_to(from, level);
  if (from.chance(20)) faults.corrupt = up_to(from, level);
}

void draw_troubles(random_stream& from, scenario& drawn) {
  if (from.chance(40)) drawn.crashes = 1 + up_to(from, 1);
  if (from.chance(30)) drawn.pauses = 1 + up_to(from, 1);
  if (from.chance(15)) drawn.drains = 1;
  if (from.chance(25)) drawn.stalls = 1 + up_to(from, 1);
  if (from.chance(20)) drawn.holds = 1 + up_to(from, 2);
  if (from.chance(15)) drawn.settlements = 1 + up_to(from, 1);
  if (from.chance(10)) drawn.wall_jumps = 1;
  drawn.purges = from.chance(30);
}

scenario draw_mixed(random_stream& from) {
  scenario drawn;
  drawn.nodes = 1 + up_to(from, 2);
  drawn.clients = 2 + up_to(from, 4);
  drawn.tenants = from.pick({1U, 1U, 2U});
  drawn.keys = from.pick({1U, 1U, 2U});
  drawn.mismatching = from.pick({0U, 10U, 30U});
  drawn.tries_max = 1 + up_to(from, 4);
  drawn.hang_ups = from.pick({0U, 10U, 40U});
  drawn.lost_answers = from.pick({0U, 5U, 30U});
  drawn.pause_max = from.pick({50ms, 500ms, 3000ms});
  draw_policy(from, drawn.policy);
  draw_limits(from, drawn.limits);
  draw_faults(from, drawn.faults);
  draw_troubles(from, drawn);
  drawn.handler_max = from.pick({10ms, 300ms, 2000ms, 6000ms});
  drawn.obeys_lost = from.chance(50);
  if (from.chance(20)) drawn.does.never_ends = 2;
  // A handler that never ends and never listens keeps its slot for ever.
  if (drawn.does.never_ends > 0 && !drawn.obeys_lost) drawn.limits.detached_slots = 256;
  if (from.chance(20)) drawn.does.unknown = 2;
  if (from.chance(30)) drawn.does.co_commits = 10;
  if (drawn.does.co_commits > 0 && from.chance(50)) drawn.policy.effects = effect_class::atomic;
  drawn.faults_end = from.between<world_time>(3s, 12s);
  return drawn;
}

// Nothing fails: what happens here is what the rules alone say.
scenario draw_calm(random_stream& from) {
  scenario drawn = draw_mixed(from);
  drawn.faults = {};
  drawn.crashes = drawn.pauses = drawn.drains = drawn.stalls = drawn.holds = 0;
  drawn.settlements = drawn.wall_jumps = 0;
  drawn.lost_answers = 0;
  return drawn;
}

// Many duplicates of one key at once.
scenario draw_storm(random_stream& from) {
  scenario drawn = draw_mixed(from);
  drawn.clients = 12;
  drawn.keys = drawn.tenants = 1;
  drawn.mismatching = 5;
  drawn.pause_max = 20ms;
  return drawn;
}

// Acknowledgements are lost, and nothing else goes wrong: no claim may be stuck.
scenario draw_lost_replies(random_stream& from) {
  scenario drawn = draw_calm(from);
  drawn.faults.timeout = 100ms;
  drawn.faults.lost_reply = 5 + up_to(from, 15);
  drawn.faults.lost_request = up_to(from, 10);
  return drawn;
}

// Owners stop for longer than their lease and come back (K18, L-13).
scenario draw_zombies(random_stream& from) {
  scenario drawn = draw_mixed(from);
  drawn.nodes = 2 + up_to(from, 1);
  drawn.pauses = 2 + up_to(from, 1);
  drawn.policy.park_on_lapse = from.chance(10);
  drawn.handler_max = from.pick({300ms, 2000ms});
  drawn.tries_max = 5;
  drawn.pause_max = 2000ms;
  if (from.chance(50)) drawn.policy.retention = drawn.policy.key_retention = 1s;
  return drawn;
}

// Transactions of others hold the rows while the store is slow.
scenario draw_held(random_stream& from) {
  scenario drawn = draw_mixed(from);
  drawn.holds = 6 + up_to(from, 6);
  drawn.faults.timeout = 3000ms;
  drawn.faults.slow = 10 + up_to(from, 40);
  return drawn;
}

}  // namespace

std::vector<std::string_view> world_names() {
  return {"mixed", "calm", "storm", "lost_replies", "zombies", "held"};
}

scenario draw_scenario(std::string_view name, random_stream& from) {
  // A tenth of the mixed worlds are of each special kind.
  if (name == "mixed") {
    const std::vector<std::string_view> all = world_names();
    const std::uint64_t kind = from.below(10);
    if (kind > 0 && kind < all.size()) name = all[kind];
  }
  scenario drawn;
  if (name == "mixed") {
    drawn = draw_mixed(from);
  } else if (name == "calm") {
    drawn = draw_calm(from);
  } else if (name == "storm") {
    drawn = draw_storm(from);
  } else if (name == "lost_replies") {
    drawn = draw_lost_replies(from);
  } else if (name == "zombies") {
    drawn = draw_zombies(from);
  } else if (name == "held") {
    drawn = draw_held(from);
  } else {
    throw std::invalid_argument("no world is called " + std::string{name});
  }
  drawn.name = name;
  return drawn;
}

}  // namespace callonce::sim
