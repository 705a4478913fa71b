// Faults that were seen elsewhere: keys that are blocked, freed or forgotten at the wrong time.
#include <array>
#include <string>
#include <thread>

#include <conform/lost_owner.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

constexpr const char* in_progress = "idempotency_key_in_progress";
constexpr const char* gated = R"({"gate":true})";
constexpr const char* short_lease = "/short/e";  // two seconds

void twenty_waiters(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/wait/e", gated);
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  std::vector<std::future<reply>> waiters;
  for (int i = 0; i < 20; ++i) waiters.push_back(t.start(sent, i % 2 == 0 ? t.n1() : t.n2()));
  t.open_gate(one, 1);
  const reply original = owner.get();
  t.first(original, 201);
  for (auto& each : waiters) t.replay_of(each.get(), original);
  t.ran(one, 1);
}

void many_other_keys(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", gated);
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  connection client{t.n1().port()};
  for (int i = 0; i < 200; ++i) t.first(client.exchange(trial::post(t.fresh())), 201);
  t.problem(t.send(sent), 409, in_progress);
  t.problem(trial::send(sent, t.n2()), 409, in_progress);
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  t.ran(one, 1);
}

// No key stays claimed once its run is over.
void every_ending(trial& t) {
  for (const char* step : {R"({"status":204})", R"({"framing":"chunked","size":9000})",
                           R"({"framing":"close","size":9000})", R"({"status":422})"}) {
    const subject one = t.fresh();
    const request sent = trial::post(one, "/e", step);
    const reply original = t.send(sent);
    t.expect(!original.replayed(), "the first answer is the run's own");
    t.replay_of(t.send(sent), original);
    t.ran(one, 1);
  }
  const subject failed = t.fresh();
  t.script(failed, R"([{"status":500,"framing":"chunked","size":9000},{}])");
  t.first(t.send(trial::post(failed)), 500);
  t.first(t.send(trial::post(failed)), 201);
  const subject left = t.fresh();
  const request sent = trial::post(left, "/e", gated);
  {
    connection client{t.n1().port()};
    client.send(sent);
    t.await_runs(left, 1);
  }
  t.open_gate(left, 1);
  t.replayed(trial::send_until_settled(sent, t.n1(), 5s), 201);
}

void release_frees_what_was_claimed(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject one = t.fresh();
  t.script(one, R"([{"status":503},{}])");
  t.first(trial::send(trial::post(one), *own), 503);
  const auto left = own->command({"keys", "list"}, {"--state", "claimed", "--json"});
  t.expect(left.code == 0 && left.output.find("claimed") == std::string::npos,
           "no claim is left: " + left.output);
  t.first(trial::send(trial::post(one), *own), 201);
  t.ran(one, 2);
}

void lost_renewals(trial& t) {
  t.needs_file_store();
  const subject one = t.fresh();
  t.script(one, R"([{"gate":true},{}])");
  node_options options = t.own_options();
  options.keep_log = false;  // its log is a file too
  options.store_timeout = "1s";
  const node_pair nodes{t, options};
  const request sent = trial::post(one, short_lease);
  auto late = trial::start(sent, *nodes.a);
  if (!t.await_runs(one, 1)) return;
  nodes.a->forbid_writes();
  const reply winner = trial::send_until_settled(sent, *nodes.b, lapse_patience);
  t.first(winner, 201);
  t.open_gate(one, 1);
  t.await_runs(one, 2, 2);
  nodes.a->allow_writes();
  judge_late_owner(t, late.get(), winner);
  const std::string metrics = nodes.a->metrics();
  t.expect(metrics.find("callonce_trust_over_total 1") != std::string::npos ||
               metrics.find("callonce_zombie_total 1") != std::string::npos,
           "the owner has counted what became of its claim");
  t.replay_of(trial::send(sent, *nodes.a), winner);
}

void renewals_end(trial& t) {
  node_options options = t.own_options();
  options.routes =
      "[[route]]\npath = \"/cap/e\"\nlease = \"2s\"\ntimeout = \"1s\"\ndetached_max = \"2s\"\n";
  const auto own = t.own_node(options);
  const subject hung = t.fresh();
  t.script(hung, R"([{"do":"hang"},{}])");
  const request sent = trial::post(hung, "/cap/e");
  t.problem(trial::send(sent, *own), 504, "upstream_timeout");
  // Its run never ends; its claim does.
  t.first(trial::send_until_settled(sent, *own, 2 * lapse_patience), 201);
  t.ran(hung, 2);
  for (int i = 0; i < 20; ++i) {
    const subject broken = t.fresh();
    t.script(broken, R"([{"status":500},{}])");
    t.first(trial::send(trial::post(broken, "/cap/e"), *own), 500);
    t.first(trial::send(trial::post(broken, "/cap/e"), *own), 201);
  }
}

void retry_after_in_range(trial& t) {
  const subject one = t.fresh();
  const killed_before_dispatch left{t, trial::post(one, short_lease)};
  int refused = 0;
  for (const auto until = steady::now() + lapse_patience; steady::now() < until;) {
    const reply seen = trial::send(trial::post(one, short_lease), *left.b);
    if (seen.status != 409) {
      t.first(seen, 201);
      break;
    }
    ++refused;
    const std::string wait = seen.get("Retry-After");
    t.expect(wait == "1" || wait == "2", "whole seconds within the lease, seen " + wait);
    std::this_thread::sleep_for(50ms);
  }
  t.expect(refused > 0, "while the lease ran");
  t.ran(one, 1);
}

void failures_leave_nothing(trial& t) {
  for (const char* step : {R"({"status":500})", R"({"status":503})", R"({"status":429})"}) {
    const subject one = t.fresh();
    t.script(one, std::string{"["} + step + ",{}]");
    t.expect(t.send(trial::post(one)).status != 409, "the application's own answer");
    t.first(t.send(trial::post(one)), 201);
    t.ran(one, 2);
  }
  const subject refused = t.fresh();
  const request sent = trial::post(refused, "/e", R"({"status":400})");
  const reply original = t.send(sent);
  t.first(original, 400);
  t.replay_of(t.send(sent), original);
  t.ran(refused, 1);
}

constexpr std::array rows{
    row{"C08", "Whoever waits can tell a claim from an answer.", twenty_waiters},
    skipped_row("C10", "A winner that rolls back leaves no deadlock among the losers.",
                "about MySQL's locks on a row that is not there; over PostgreSQL: DPG3, DPG7"),
    row{"C11", "Other keys, however many, drop no claim.", many_other_keys},
    row{"C17", "However a run ends, its key does not stay claimed.", every_ending},
    row{"C18", "A release frees the record that was claimed.", release_frees_what_was_claimed},
    row{"C20", "An owner whose renewals fail knows that its claim may be lost.", lost_renewals},
    row{"C21", "Renewals end with the run, and at its bound.", renewals_end},
    row{"C24", "Retry-After is in whole seconds and within the lease.", retry_after_in_range},
    row{"C25", "A failed attempt does not block its key.", failures_leave_nothing},
    skipped_row("C78", "A failover to a server that never saw the claim.",
                "about Redis, which is not built; PostgreSQL: C84 and settings refused at start"),
    skipped_row("C79", "A server that has forgotten the scripts it was given.",
                "about Redis, which is not built"),
};

}  // namespace

std::span<const row> record_case_rows() {
  return rows;
}

}  // namespace conform
