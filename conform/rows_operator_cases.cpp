// Faults that were seen elsewhere: in what operators see.
#include <algorithm>
#include <array>
#include <string>

#include <conform/row.hpp>

namespace conform {
namespace {

constexpr const char* in_progress = "idempotency_key_in_progress";
constexpr const char* reused = "idempotency_key_reused";

void refusals_are_no_errors(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject one = t.fresh();
  const request gated = trial::post(one, "/e", R"({"gate":true})");
  auto owner = trial::start(gated, *own);
  t.await_runs(one, 1);
  t.problem(trial::send(gated, *own), 409, in_progress);
  t.problem(trial::send(trial::post(one), *own), 422, reused);
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  own->stop();
  t.expect(own->log().find("\"level\":\"error\"") == std::string::npos,
           "no line at level error for what a client did");
}

void nothing_in_clear(trial& t) {
  t.needs_file_store();
  node_options options = t.own_options();
  options.log = "level = \"debug\"\n";
  const auto own = t.own_node(options);
  const subject one = trial::with_key(t.fresh(), "\"mail-jane.roe@example.test\"");
  const request card = trial::post(one, "/e", R"({"gate":true,"note":"4000-0000"})");
  auto owner = trial::start(card, *own);
  t.await_runs(one, 1);
  t.problem(trial::send(card, *own), 409, in_progress);
  t.problem(trial::send(trial::post(one, "/e", R"({"note":"4000-0001"})"), *own), 422, reused);
  t.problem(trial::send(trial::post(trial::with_key(one, "\"jane.roe\\x\"")), *own), 400,
            "idempotency_key_invalid");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  own->forbid_writes();
  t.problem(trial::send(trial::post(trial::with_key(one, "\"jane.roe-2\"")), *own), 503,
            "idempotency_store_unavailable");
  own->allow_writes();
  own->stop();
  const std::string said = own->log();
  t.expect(said.find("\"event\":\"request\"") != std::string::npos, "there is a log");
  for (const char* secret : {"jane.roe", "4000-000"}) {
    t.expect(said.find(secret) == std::string::npos, std::string{secret} + " is in no line");
  }
  t.expect(said.find(one.tenant) == std::string::npos, "nor the credential");
}

double count_of(const std::string& metrics, const std::string& series) {
  const std::size_t at = metrics.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + series.size() + 2));
}

void missing_keys_are_counted(trial& t) {
  const auto own = t.own_node(t.own_options());
  for (int i = 0; i < 10; ++i) {
    t.first(trial::send(trial::post(t.fresh(), "/opt").drop("Idempotency-Key"), *own), 201);
  }
  for (int i = 0; i < 5; ++i) {
    trial::send(trial::post(trial::with_key(t.fresh(), "\"x")), *own);
  }
  const subject one = t.fresh();
  t.first(trial::send(trial::post(one), *own), 201);
  for (int i = 0; i < 5; ++i) t.replayed(trial::send(trial::post(one), *own), 201);
  const std::string seen = own->metrics();
  const auto requests = [&](const std::string& route, const std::string& outcome) {
    const std::string labels = "{outcome=\"" + outcome + "\",route=\"" + route + "\"}";
    const std::string turned = "{route=\"" + route + "\",outcome=\"" + outcome + "\"}";
    return std::max(count_of(seen, "callonce_requests_total" + labels),
                    count_of(seen, "callonce_requests_total" + turned));
  };
  t.expect(requests("default", "no_key") == 10, "ten without a key");
  t.expect(requests("/e", "idempotency_key_invalid") == 5, "five that could not be used");
  t.expect(requests("/e", "replayed") == 5 && requests("/e", "executed") == 1,
           "five replays of one run");
}

void bounded_labels(trial& t) {
  const auto own = t.own_node(t.own_options());
  const auto lines = [&] {
    const std::string text = own->metrics();
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  for (int i = 0; i < 200; ++i) {
    const subject one = t.fresh();
    request odd = trial::post(one, "/v1/orders/" + std::to_string(i));
    odd.method = i % 2 == 0 ? "FOO" : "POST";
    trial::send(odd, *own);
    trial::send(trial::post(one), *own);
  }
  t.expect(lines() == before,
           "no client makes a series: " + std::to_string(lines() - before) + " new lines");
}

void every_metric(trial& t) {
  const std::string seen = t.n1().metrics();
  for (const char* name :
       {"callonce_requests_total", "callonce_claims_total", "callonce_completions_total",
        "callonce_in_doubt_total", "callonce_unrecorded_total", "callonce_zombie_total",
        "callonce_runs", "callonce_waiters", "callonce_detached", "callonce_request_seconds",
        "callonce_store_seconds", "callonce_batch_operations", "callonce_purged_total",
        "callonce_build_info"}) {
    t.expect(seen.find("# TYPE " + std::string{name} + " ") != std::string::npos,
             std::string{name} + " exists");
  }
}

constexpr std::array rows{
    row{"C110", "What a client does wrong is no error of the server.", refusals_are_no_errors},
    row{"C112", "No key, credential or body is in any log line.", nothing_in_clear},
    row{"C113", "Missing and unusable keys are counted.", missing_keys_are_counted},
    row{"C114", "No client can make a metric's series.", bounded_labels},
    row{"O-01", "Every metric of the interface is there.", every_metric},
};

}  // namespace

std::span<const row> operator_case_rows() {
  return rows;
}

}  // namespace conform
