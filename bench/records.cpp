// What a claim costs as records pile up, and what a record takes on disk. SQLite, batches of 64.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <unistd.h>

#include <callonce/engine/environment.hpp>
#include <callonce/stores/sqlite/store.hpp>

#include "bench/support/report.hpp"

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t at_once = 64;
constexpr std::uint64_t measured_pairs = 20000;

class filler {
 public:
  explicit filler(callonce::store& over) : store_(over) {
    callonce::stored_answer made;
    made.status = 201;
    made.headers.add("Content-Type", "application/json");
    made.headers.add("Location", "/v1/charges/ch_00000000000000000000000001");
    made.body = callonce::body_bytes{std::string(256, 'x')};
    answer_ = std::make_shared<const callonce::stored_answer>(std::move(made));
  }

  /// Completes fresh keys. Units: microseconds a pair.
  double add(std::uint64_t pairs) {
    const auto start = std::chrono::steady_clock::now();
    callonce::asio::io_context io{1};
    const std::uint64_t until = next_ + pairs;
    for (std::uint64_t at = 0; at < at_once; ++at) {
      callonce::asio::co_spawn(io, one(until), callonce::asio::detached);
    }
    io.run();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(pairs);
  }

  std::uint64_t records() const { return next_; }
  std::uint64_t failed() const { return failed_; }

 private:
  callonce::asio::awaitable<void> one(std::uint64_t until) {
    while (next_ < until) {
      callonce::claim_request wish;
      wish.id = callonce::identity{callonce::scope_hash{},
                                   callonce::key{"record-" + std::to_string(next_++)}};
      wish.claim_id = callonce::new_claim_id(callonce::system_environment());
      wish.terms.lease = 60s;
      wish.terms.retention = 24h;
      wish.terms.key_retention = 168h;
      const auto won = co_await store_.claim(wish);
      if (!won) {
        ++failed_;
        continue;
      }
      const callonce::fence by{wish.id, wish.claim_id, won->current.attempt};
      const auto done = co_await store_.complete(by, answer_);
      if (!done) ++failed_;
    }
  }

  callonce::store& store_;
  std::shared_ptr<const callonce::stored_answer> answer_;
  std::uint64_t next_ = 0;
  std::uint64_t failed_ = 0;
};

// Three rounds, of which the median counts.
double measure(filler& into) {
  std::vector<double> rounds(3);
  for (double& each : rounds) each = into.add(measured_pairs);
  return bench::median(rounds);
}

int run(const fs::path& folder, const std::string& json) {
  const fs::path file = folder / "records.db";
  bench::report figures;
  std::uint64_t records = 0;
  {
    callonce::sqlite::store store{file.string()};
    filler into{store};
    const double empty = measure(into);
    figures.add("claim_us_0", empty);
    double full = empty;
    for (const std::uint64_t count : {250000U, 500000U, 750000U, 1000000U}) {
      std::fprintf(stderr, "filling to %llu records …\n", static_cast<unsigned long long>(count));
      into.add(count - into.records());
      full = measure(into);
      figures.add("claim_us_" + std::to_string(count / 1000) + "k", full);
    }
    figures.add("claim_cost_1m_vs_0", full / empty);
    figures.add("failed", static_cast<double>(into.failed()));
    records = into.records();
  }
  // Closed and so checkpointed: the file holds everything.
  figures.add("records", static_cast<double>(records));
  figures.add("record_bytes_sqlite",
              static_cast<double>(fs::file_size(file)) / static_cast<double>(records));
  figures.print();
  figures.write_json(json);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: bench-records JSON (run ./dev bench records)\n");
    return 2;
  }
  const fs::path folder =
      fs::temp_directory_path() / ("callonce-records-" + std::to_string(getpid()));
  try {
    fs::create_directories(folder);
    const int status = run(folder, arguments[1]);
    fs::remove_all(folder);
    return status;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "bench-records: %s\n", why.what());
    fs::remove_all(folder);
    return 1;
  }
}
