// 10,000 concurrent duplicates of one key while other keys flow, against a running gateway.
// Started by bench/storm, which starts the gateway too.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "bench/support/load.hpp"
#include "bench/support/report.hpp"
#include "bench/support/small_upstream.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t duplicates = 10000;
// Long enough that all duplicates arrive while the first request runs.
constexpr auto slow_answer = 4s;
constexpr auto quiet_flow = 3s;
constexpr std::size_t flowing_connections = 8;

int run(const std::string& callonce_starter, const std::string& json) {
  bench::small_upstream application{"storm", slow_answer};
  // The starter prints "PORT PID METRICS_URL_PORT" once the gateway is ready.
  const std::string command = callonce_starter + " " + std::to_string(application.port());
  std::FILE* gateway = popen(command.c_str(), "r");
  unsigned port = 0;
  int pid = 0;
  if (gateway == nullptr || std::fscanf(gateway, "%u %d", &port, &pid) != 2) {
    std::fprintf(stderr, "bench-storm: the gateway did not start: see build/bench/gateway.log\n");
    return 1;
  }
  const auto to = static_cast<std::uint16_t>(port);

  const auto flow_for = [&](const char* prefix, auto length) {
    std::atomic<bool> stop = false;
    auto flowing = std::async(std::launch::async,
                              [&] { return bench::flow(to, flowing_connections, prefix, stop); });
    length();
    stop = true;
    return flowing.get();
  };
  const bench::load_result quiet =
      flow_for("quiet-", [] { std::this_thread::sleep_for(quiet_flow); });

  double waiters_mib = 0;
  bench::load_result storm;
  const double before_mib = bench::resident_mib(pid);
  const bench::load_result others = flow_for("storm-other-", [&] {
    storm = bench::storm(to, duplicates, bench::post("storm-key", "{\"for\":\"storm\"}"),
                         [&] { waiters_mib = bench::resident_mib(pid); });
  });

  const double quiet_p99 = bench::quantile(quiet.milliseconds, 0.99);
  const double others_p99 = bench::quantile(others.milliseconds, 0.99);
  bench::report figures;
  figures.add("storm_duplicates", static_cast<double>(duplicates));
  figures.add("storm_effects", static_cast<double>(application.slow_effects()));
  figures.add("storm_answers_201", static_cast<double>(storm.answers_201));
  figures.add("storm_replays", static_cast<double>(storm.replays));
  figures.add("storm_refused_409", static_cast<double>(storm.refused_409));
  figures.add("storm_other_answers", static_cast<double>(storm.others));
  figures.add("storm_others_answers", static_cast<double>(others.answers_201));
  figures.add("storm_others_p99_ms_quiet", quiet_p99);
  figures.add("storm_others_p99_ms", others_p99);
  figures.add("storm_others_p99_ratio", quiet_p99 > 0 ? others_p99 / quiet_p99 : 0);
  figures.add("rss_mib_before", before_mib);
  figures.add("waiters_rss_mib", waiters_mib);
  // The starter reads what the gateway counted meanwhile, then stops it.
  std::ofstream{json + ".others"} << quiet.answers_201 + others.answers_201 << "\n";
  pclose(gateway);
  double operations = 0;
  std::ifstream{json + ".operations"} >> operations;
  figures.add("storm_store_operations", operations);
  figures.print();
  figures.write_json(json);
  return application.slow_effects() == 1 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: bench-storm STARTER JSON (run ./dev bench storm)\n");
    return 2;
  }
  try {
    return run(arguments[1], arguments[2]);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "bench-storm: %s\n", why.what());
    return 1;
  }
}
