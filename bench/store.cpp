// Claim+complete pairs a second by how many are on their way at once, over memory and SQLite.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <unistd.h>

#include <callonce/engine/environment.hpp>
#include <callonce/stores/memory/store.hpp>
#include <callonce/stores/sqlite/store.hpp>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The row that `docs/internals/performance.md` speaks of: a 36-byte key, some headers, 256 bytes of
// body.
std::shared_ptr<const callonce::stored_answer> stored_answer() {
  callonce::stored_answer made;
  made.status = 201;
  made.headers.add("Content-Type", "application/json");
  made.headers.add("Location", "/v1/charges/ch_00000000000000000000000001");
  made.headers.add("Cache-Control", "no-store");
  made.body = callonce::body_bytes{std::string(256, 'x')};
  return std::make_shared<const callonce::stored_answer>(std::move(made));
}

callonce::claim_request wish(std::uint64_t number) {
  callonce::claim_request made;
  const std::string text = std::to_string(number);
  made.id = callonce::identity{callonce::scope_hash{},
                               callonce::key{"bench-" + std::string(30 - text.size(), '0') + text}};
  made.claim_id = callonce::new_claim_id(callonce::system_environment());
  made.terms.lease = 60s;
  made.terms.retention = 24h;
  made.terms.key_retention = 168h;
  made.terms.response_body_max = 1 << 20;
  return made;
}

callonce::asio::awaitable<void> pairs(callonce::store& over, std::uint64_t& next,
                                      std::uint64_t until,
                                      std::shared_ptr<const callonce::stored_answer> answer,
                                      std::uint64_t& failed) {
  while (next < until) {
    const callonce::claim_request claim = wish(next++);
    const auto won = co_await over.claim(claim);
    if (!won) {
      ++failed;
      continue;
    }
    const callonce::fence by{claim.id, claim.claim_id, won->current.attempt};
    const auto done = co_await over.complete(by, answer);
    if (!done || done->verdict != callonce::write_verdict::done) ++failed;
  }
}

void measure(benchmark::State& state, callonce::store& over) {
  const auto at_once = static_cast<std::uint64_t>(state.range(0));
  // Enough for several commits of each size.
  const std::uint64_t each_round = at_once * 50;
  const auto answer = stored_answer();
  std::uint64_t next = 0;
  std::uint64_t failed = 0;
  while (state.KeepRunning()) {
    callonce::asio::io_context io{1};
    const std::uint64_t until = next + each_round;
    for (std::uint64_t at = 0; at < at_once; ++at) {
      callonce::asio::co_spawn(io, pairs(over, next, until, answer, failed),
                               callonce::asio::detached);
    }
    io.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(next));
  state.counters["failed"] = static_cast<double>(failed);
}

void memory(benchmark::State& state) {
  callonce::memory::store over;
  measure(state, over);
}

void sqlite(benchmark::State& state) {
  const fs::path folder =
      fs::temp_directory_path() / ("callonce-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  {
    callonce::sqlite::store over{(folder / "store.db").string()};
    measure(state, over);
  }
  fs::remove_all(folder);
}

BENCHMARK(memory)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseRealTime();
BENCHMARK(sqlite)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
