// 10,000 concurrent duplicates of one key while other keys flow, against a gateway of its own.

#include <atomic>
#include <cstdio>
#include <exception>
#include <future>
#include <string>
#include <thread>

#include "bench/support/gateway_process.hpp"
#include "bench/support/load.hpp"
#include "bench/support/report.hpp"
#include "bench/support/small_upstream.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t duplicates = 10000;
// Long enough that all duplicates arrive while the first request runs.
constexpr auto slow_answer = 5s;
constexpr auto quiet_flow = 3s;
constexpr std::size_t flowing_connections = 8;

class bench_storm {
 public:
  explicit bench_storm(const std::string& callonce) : gateway_(callonce, settings()) {}

  int run(const std::string& json) {
    std::fprintf(stderr, "a storm of %zu on one key, nothing else …\n", duplicates);
    alone();
    std::fprintf(stderr, "other keys alone, then with a storm …\n");
    beside_others();
    figures_.print();
    figures_.write_json(json);
    return application_.slow_effects() == 2 ? 0 : 1;
  }

 private:
  std::string settings() const {
    return "upstream = \"http://127.0.0.1:" + std::to_string(application_.port()) +
           "\"\n[limits]\nconnections = 20000\nwait_slots = 20000\n"
           "[defaults]\nkey = \"required\"\nlease = \"30s\"\ntimeout = \"25s\"\nwait = \"20s\"\n";
  }

  bench::load_result storm_on(const std::string& key) {
    return bench::storm(gateway_.port(), duplicates, bench::post(key, "{\"for\":\"storm\"}"),
                        [&] { waiters_mib_ = bench::resident_mib(gateway_.pid()); });
  }

  void alone() {
    const double before_mib = bench::resident_mib(gateway_.pid());
    const double asked_before = gateway_.metric_sum("callonce_store_seconds_count");
    const bench::load_result storm = storm_on("storm-alone");
    // The purger's own rounds count too: a handful.
    figures_.add("storm_duplicates", static_cast<double>(duplicates));
    figures_.add("storm_effects", static_cast<double>(application_.slow_effects()));
    figures_.add("storm_store_operations",
                 gateway_.metric_sum("callonce_store_seconds_count") - asked_before);
    figures_.add("storm_answers_201", static_cast<double>(storm.answers_201));
    figures_.add("storm_replays", static_cast<double>(storm.replays));
    figures_.add("storm_other_answers", static_cast<double>(storm.refused_409 + storm.others));
    figures_.add("rss_mib_before", before_mib);
    figures_.add("waiters_rss_mib", waiters_mib_);
  }

  template <class Meanwhile>
  bench::load_result flow_during(const char* prefix, Meanwhile meanwhile) {
    std::atomic<bool> stop = false;
    auto flowing = std::async(std::launch::async, [&] {
      return bench::flow(gateway_.port(), flowing_connections, prefix, stop);
    });
    meanwhile();
    stop = true;
    return flowing.get();
  }

  void beside_others() {
    const bench::load_result quiet =
        flow_during("quiet-", [] { std::this_thread::sleep_for(quiet_flow); });
    const bench::load_result others =
        flow_during("busy-", [&] { storm_on("storm-beside-others"); });
    const double quiet_p99 = bench::quantile(quiet.milliseconds, 0.99);
    const double others_p99 = bench::quantile(others.milliseconds, 0.99);
    figures_.add("storm_others_answers", static_cast<double>(others.answers_201));
    figures_.add("storm_others_p99_ms_quiet", quiet_p99);
    figures_.add("storm_others_p99_ms", others_p99);
    figures_.add("storm_others_p99_ratio", quiet_p99 > 0 ? others_p99 / quiet_p99 : 0);
  }

  bench::small_upstream application_{"storm", slow_answer};
  bench::gateway_process gateway_;
  bench::report figures_;
  double waiters_mib_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: bench-storm CALLONCE JSON (run ./dev bench storm)\n");
    return 2;
  }
  try {
    return bench_storm{arguments[1]}.run(arguments[2]);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "bench-storm: %s\n", why.what());
    return 1;
  }
}
