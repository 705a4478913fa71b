#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/policy.hpp>
#include <callonce/engine/engine.hpp>
#include <callonce/testkit/faulty_store.hpp>
#include <callonce/testkit/random.hpp>

namespace callonce::sim {

using testkit::random_stream;
using testkit::store_faults;
using testkit::world_time;

/// How a handler may behave, each in parts of their sum.
struct behaviours {
  unsigned created = 10;  ///< 201 with a body
  unsigned declined = 2;  ///< 402
  unsigned empty = 1;     ///< 204
  unsigned busy = 1;      ///< 409 with Retry-After
  unsigned failed = 2;    ///< 503
  unsigned throws = 1;    ///< an exception
  unsigned not_executed = 1;
  unsigned indeterminate = 1;
  unsigned unknown = 0;           ///< 500 with `Idempotency-Outcome: unknown`
  unsigned streamed = 1;          ///< 200 in pieces, within the cap
  unsigned over_cap = 1;          ///< 200 in pieces, beyond the cap
  unsigned cut_off = 1;           ///< 200 in pieces, broken off
  unsigned streamed_failure = 1;  ///< 500 in pieces
  unsigned never_ends = 0;
  unsigned co_commits = 0;  ///< completes the record itself, then answers, fails or is cut off
};

/// Everything about one simulated world, drawn from its seed.
struct scenario {
  std::string name;
  unsigned nodes = 2;
  unsigned clients = 4;
  unsigned tenants = 1;
  unsigned keys = 1;
  unsigned mismatching = 10;  ///< Percent of requests with another payload.
  unsigned tries_max = 4;
  unsigned hang_ups = 10;     ///< Percent of requests whose client leaves early.
  unsigned lost_answers = 5;  ///< Percent of answers that never reach their client.
  world_time pause_max{};     ///< Between two tries of one client.
  policy_settings policy;
  engine_limits limits;
  store_faults faults;
  behaviours does;
  world_time handler_max{};
  bool obeys_lost = true;  ///< Handlers that see `lost()` stop soon.

  world_time faults_end{};  ///< Then nothing goes wrong any more, and everything must settle.
  unsigned crashes = 0;
  unsigned pauses = 0;
  unsigned drains = 0;
  unsigned stalls = 0;
  unsigned holds = 0;
  unsigned settlements = 0;
  unsigned wall_jumps = 0;
  bool purges = false;
};

/// The names of all kinds of worlds; `mixed` draws from everything.
std::vector<std::string_view> world_names();

/// Errors: throws std::invalid_argument for an unknown name.
scenario draw_scenario(std::string_view name, random_stream& from);

}  // namespace callonce::sim
