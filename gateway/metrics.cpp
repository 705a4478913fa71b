#include <array>
#include <map>
#include <sstream>

#include <gateway/metrics.hpp>
#include <gateway/observed_store.hpp>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <callonce/core/replay.hpp>

namespace callonce::gateway {
namespace {

using kind = request_outcome::kind;

constexpr std::size_t problem_codes = static_cast<std::size_t>(problem_code::internal_error) + 1;
constexpr std::array<std::string_view, 5> plain_outcomes{"unprotected", "no_key", "executed",
                                                         "replayed", "gone"};
constexpr std::size_t outcomes = plain_outcomes.size() + problem_codes;

constexpr std::size_t claim_kinds = static_cast<std::size_t>(claim_kind::repeat) + 1;

std::size_t index_of(request_outcome how) {
  const auto plain = static_cast<std::size_t>(how.what);
  return how.what == kind::problem ? plain_outcomes.size() + static_cast<std::size_t>(how.code)
                                   : plain;
}

// From a replay out of memory to a patient client.
const std::vector<double> seconds_buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                          0.5,   1,      2.5,   5,    10,    30,   60};

// A lane takes at most 256 operations at once.
const std::vector<double> batch_buckets{1, 2, 4, 8, 16, 32, 64, 128, 256};

}  // namespace

std::string_view request_outcome::name() const {
  return what == kind::problem ? to_string(code) : plain_outcomes[static_cast<std::size_t>(what)];
}

request_outcome outcome_of(const response& answer) {
  if (answer.headers().find(replayed_field) != nullptr) return {kind::replayed};
  if (answer.made_for()) return {kind::problem, *answer.made_for()};
  return {kind::executed};
}

struct metrics::series {
  struct route {
    std::array<prometheus::Counter*, outcomes> requests{};
    prometheus::Histogram* seconds = nullptr;
  };

  prometheus::Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }

  series(const std::vector<std::string>& names, std::string_view version,
         std::function<live_numbers()> numbers)
      : live(std::move(numbers)) {
    add_routes(names);
    add_claims();
    add_completions();
    add_store();
    prometheus::BuildGauge()
        .Name("callonce_build_info")
        .Help("Always 1; the version is its label.")
        .Register(registry)
        .Add({{"version", std::string{version}}})
        .Set(1);
  }

  void add_routes(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (routes.count(name) != 0) continue;
      route made;
      for (std::size_t i = 0; i < outcomes; ++i) {
        request_outcome how;
        how.what = i < plain_outcomes.size() ? static_cast<kind>(i) : kind::problem;
        if (how.what == kind::problem)
          how.code = static_cast<problem_code>(i - plain_outcomes.size());
        made.requests[i] = &requests.Add({{"route", name}, {"outcome", std::string{how.name()}}});
      }
      made.seconds = &seconds.Add({{"route", name}}, seconds_buckets);
      routes.emplace(name, made);
    }
  }

  void add_claims() {
    auto& family = prometheus::BuildCounter()
                       .Name("callonce_claims_total")
                       .Help("Claims won, by what was found before.")
                       .Register(registry);
    for (std::size_t i = 0; i < claim_kinds; ++i) {
      claims[i] = &family.Add({{"kind", std::string{to_string(static_cast<claim_kind>(i))}}});
    }
  }

  void add_completions() {
    auto& family = prometheus::BuildCounter()
                       .Name("callonce_completions_total")
                       .Help("Records completed, by who wrote the completion.")
                       .Register(registry);
    by_gateway = &family.Add({{"by", "gateway"}});
    by_application = &family.Add({{"by", "application"}});
  }

  void add_store() {
    auto& family = prometheus::BuildHistogram()
                       .Name("callonce_store_seconds")
                       .Help("Store operations, from the question to the durable answer.")
                       .Register(registry);
    for (const std::string_view name : observed_store::operations) {
      store.emplace(name, &family.Add({{"operation", std::string{name}}}, seconds_buckets));
    }
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("callonce_requests_total")
          .Help("Requests by route and by how they were answered.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds =
      prometheus::BuildHistogram()
          .Name("callonce_request_seconds")
          .Help("From a request's head to its answer's last byte.")
          .Register(registry);
  prometheus::Histogram& batches =
      prometheus::BuildHistogram()
          .Name("callonce_batch_operations")
          .Help("Store operations that one commit made durable together.")
          .Register(registry)
          .Add({}, batch_buckets);
  std::function<live_numbers()> live;
  std::map<std::string, route, std::less<>> routes;
  std::array<prometheus::Counter*, claim_kinds> claims{};
  std::map<std::string_view, prometheus::Histogram*> store;
  prometheus::Counter* by_gateway = nullptr;
  prometheus::Counter* by_application = nullptr;

  prometheus::Counter& unprotected =
      counter("callonce_fail_open_total", "Requests that ran unprotected: no store, fail_open.");
  prometheus::Counter& differing =
      counter("callonce_answer_differs_total",
              "Answers that were not what the application's transaction had stored.");
  prometheus::Counter& not_co_committed = counter(
      "callonce_not_co_committed_total", "Class atomic, completed by the gateway all the same.");
  prometheus::Counter& released = counter("callonce_released_total", "Claims given back.");
  prometheus::Counter& kept = counter("callonce_kept_total", "Claims kept: outcome uncertain.");
  prometheus::Counter& parked = counter("callonce_parked_total", "Keys parked for a person.");
  prometheus::Counter& detached =
      counter("callonce_detached_total", "Runs that went on without their client.");
  prometheus::Counter& abandoned =
      counter("callonce_abandoned_total", "Runs given up after detached_max.");
  prometheus::Counter& in_doubt =
      counter("callonce_in_doubt_total", "Writes whose acknowledgement was lost.");
  prometheus::Counter& unrecorded =
      counter("callonce_unrecorded_total", "True answers sent before they were durable.");
  prometheus::Counter& zombie =
      counter("callonce_zombie_total", "Runs that found their claim lost.");
  prometheus::Counter& trust_over =
      counter("callonce_trust_over_total", "Runs whose lease could not be renewed in time.");
  prometheus::Counter& store_failed =
      counter("callonce_store_failures_total", "Store operations that were surely not applied.");
  prometheus::Counter& corrupt =
      counter("callonce_corrupt_total", "Records that could not be trusted.");
  prometheus::Counter& handler_failed =
      counter("callonce_handler_failures_total", "Handlers that failed without an answer.");
  prometheus::Counter& purged =
      counter("callonce_purged_total", "Records and bodies removed after their retention.");
  prometheus::Gauge& runs_now = gauge("callonce_runs", "Attempts that run now.");
  prometheus::Gauge& waiters_now = gauge("callonce_waiters", "Duplicates that wait now.");
  prometheus::Gauge& detached_now =
      gauge("callonce_detached", "Attempts that run now without their client.");
  prometheus::Gauge& connections_now = gauge("callonce_connections", "Client connections now.");
};

metrics::metrics(const std::vector<std::string>& routes, std::string_view version,
                 std::function<live_numbers()> live)
    : series_(std::make_unique<series>(routes, version, std::move(live))) {}

metrics::~metrics() = default;

void metrics::on(const fact& what) {
  switch (what.kind) {
    case fact_kind::claimed:
      return series_->claims[static_cast<std::size_t>(what.claim)]->Increment();
    case fact_kind::completed:
      return series_->by_gateway->Increment();
    case fact_kind::co_committed:
      return series_->by_application->Increment();
    case fact_kind::answer_differs:
      return series_->differing.Increment();
    case fact_kind::not_co_committed:
      return series_->not_co_committed.Increment();
    case fact_kind::unprotected:
      return series_->unprotected.Increment();
    case fact_kind::released:
      return series_->released.Increment();
    case fact_kind::kept:
      return series_->kept.Increment();
    case fact_kind::parked:
      return series_->parked.Increment();
    case fact_kind::detached:
      return series_->detached.Increment();
    case fact_kind::abandoned:
      return series_->abandoned.Increment();
    case fact_kind::in_doubt:
      return series_->in_doubt.Increment();
    case fact_kind::unrecorded:
      return series_->unrecorded.Increment();
    case fact_kind::lease_lost:
      return series_->zombie.Increment();
    case fact_kind::trust_over:
      return series_->trust_over.Increment();
    case fact_kind::store_failed:
      return series_->store_failed.Increment();
    case fact_kind::corrupt:
      return series_->corrupt.Increment();
    case fact_kind::handler_failed:
      return series_->handler_failed.Increment();
    case fact_kind::purged:
      return series_->purged.Increment(static_cast<double>(what.count));
    // Requests are counted once each, by how they ended.
    case fact_kind::passed_through:
    case fact_kind::refused:
    case fact_kind::replayed:
    case fact_kind::dispatched:
    case fact_kind::answered:
    case fact_kind::sent:
    case fact_kind::renewed:
    case fact_kind::wall_jumped:
      return;
  }
}

void metrics::count_request(std::string_view route, request_outcome how,
                            std::chrono::steady_clock::duration took) {
  const auto found = series_->routes.find(route);
  if (found == series_->routes.end()) return;
  found->second.requests[index_of(how)]->Increment();
  found->second.seconds->Observe(std::chrono::duration<double>(took).count());
}

void metrics::count_store(std::string_view operation, std::chrono::steady_clock::duration took) {
  series_->store.at(operation)->Observe(std::chrono::duration<double>(took).count());
}

void metrics::count_batch(std::size_t operations) {
  series_->batches.Observe(static_cast<double>(operations));
}

void metrics::add_routes(const std::vector<std::string>& names) {
  series_->add_routes(names);
}

std::string metrics::text() {
  const live_numbers now = series_->live();
  series_->runs_now.Set(static_cast<double>(now.runs));
  series_->waiters_now.Set(static_cast<double>(now.waiters));
  series_->detached_now.Set(static_cast<double>(now.detached));
  series_->connections_now.Set(static_cast<double>(now.connections));
  return prometheus::TextSerializer{}.Serialize(series_->registry.Collect());
}

}  // namespace callonce::gateway
