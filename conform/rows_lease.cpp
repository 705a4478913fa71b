// Owners that die, stand still or come back too late; who may run, and whose answer counts.
#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include <conform/lost_owner.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

constexpr std::string_view in_progress = "idempotency_key_in_progress";
constexpr std::string_view unknown = "idempotency_outcome_unknown";
constexpr const char* path = "/short/e";  // a lease of two seconds
constexpr const char* short_retention = "retention = \"2s\"\nkey_retention = \"2s\"\n";

void killed_then_early_retry(trial& t) {
  const subject one = t.fresh();
  const killed_before_dispatch left{t, trial::post(one, path)};
  t.problem(trial::send(trial::post(one, path), *left.b), 409, in_progress);
  t.ran(one, 0);
}

void killed_then_late_retry(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, path);
  const killed_before_dispatch left{t, sent};
  const reply original = trial::send_until_settled(sent, *left.b, lapse_patience);
  t.first(original, 201);
  t.replay_of(trial::send(sent, *left.b), original);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 1 && runs.front().attempt == "2", "one run, as attempt 2");
}

void killed_then_storm(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, path);
  const killed_before_dispatch left{t, sent};
  std::array<reply, 50> answers;
  in_parallel(static_cast<int>(answers.size()), [&](int i) {
    answers[static_cast<std::size_t>(i)] = trial::send_until_settled(sent, *left.b, lapse_patience);
  });
  const auto firsts = std::count_if(answers.begin(), answers.end(), [](const reply& seen) {
    return seen.status == 201 && !seen.replayed();
  });
  t.expect(firsts == 1, "one takeover, seen " + std::to_string(firsts));
  for (const reply& seen : answers)
    t.expect(seen.status == 201, "all are answered: " + shown(seen));
  const auto runs = t.runs(one);
  t.expect(runs.size() == 1 && runs.front().attempt == "2", "one run, as attempt 2");
}

void late_after_takeover(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"gate":true},{}])");
  const node_pair nodes{t};
  const request sent = trial::post(one, path);
  auto late = stopped_owner(t, nodes, one, sent);
  const reply winner = trial::send_until_settled(sent, *nodes.b, lapse_patience);
  t.first(winner, 201);
  t.open_gate(one, 1);
  t.await_runs(one, 2, 2);
  nodes.a->resume();
  judge_late_owner(t, late.get(), winner);
  t.replay_of(trial::send(sent, *nodes.b), winner);
  t.replay_of(trial::send(sent, *nodes.a), winner);
  t.ran(one, 2);
}

void late_without_takeover(trial& t) {
  const subject one = t.fresh();
  const node_pair nodes{t};
  const request sent = trial::post(one, path, R"({"gate":true})");
  auto owner = stopped_owner(t, nodes, one, sent);
  t.open_gate(one, 1);
  t.await_runs(one, 1, 1);
  std::this_thread::sleep_for(3s);  // the lease is over; nobody asks meanwhile
  nodes.a->resume();
  const reply original = owner.get();
  t.first(original, 201);
  t.replay_of(trial::send(sent, *nodes.b), original);
  t.ran(one, 1);
}

void late_release(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":503,"gate":true},{"gate":true},{}])");
  const node_pair nodes{t};
  const request sent = trial::post(one, path);
  auto late = stopped_owner(t, nodes, one, sent);
  auto winner = take_over(t, one, sent, *nodes.b, 2);
  t.open_gate(one, 1);  // the late owner's 503 arrives and would release the record
  t.await_runs(one, 2, 1);
  nodes.a->resume();
  const reply refused = late.get();
  t.problem(refused, 409, "idempotency_claim_lost");
  t.problem(trial::send(sent, *nodes.a), 409, in_progress);
  t.problem(trial::send(sent, *nodes.b), 409, in_progress);
  t.open_gate(one, 2);
  const reply original = winner.get();
  t.first(original, 201);
  t.replay_of(trial::send(sent, *nodes.a), original);
  t.ran(one, 2);
}

void late_renewal(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"gate":true},{"gate":true},{}])");
  const node_pair nodes{t};
  const request sent = trial::post(one, path);
  auto late = stopped_owner(t, nodes, one, sent);
  auto winner = take_over(t, one, sent, *nodes.b, 2);
  nodes.a->resume();  // its run still goes on, and so would its renewals
  nodes.b->kill();
  winner.get();
  // Nobody renews the winner's lease now: it lapses, unless the late owner's renewals counted.
  nodes.b->start();
  const reply third = trial::send_until_settled(sent, *nodes.b, lapse_patience);
  t.first(third, 201);
  t.open_gate(one, 2);
  judge_late_owner(t, late.get(), third);
  t.replay_of(trial::send(sent, *nodes.b), third);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 3 && runs.back().attempt == "3", "a third run, as attempt 3");
}

void recreated_record(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"gate":true},{}])");
  node_options options = t.own_options();
  options.defaults = short_retention;
  const node_pair nodes{t, options};
  const request sent = trial::post(one, path);
  auto late = stopped_owner(t, nodes, one, sent);
  // Longer than lease and retention together.
  std::this_thread::sleep_for(5s);
  const auto purged = nodes.b->command({"purge"}, {});
  t.expect(purged.code == 0, "the purge ends well: " + purged.output);
  const reply winner = trial::send(sent, *nodes.b);
  t.first(winner, 201);
  t.open_gate(one, 1);
  t.await_runs(one, 2, 2);
  nodes.a->resume();
  judge_late_owner(t, late.get(), winner);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 2 && runs.back().attempt == "1",
           "two runs, the second as attempt 1 of a record made anew");
}

void renewed_lease(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, path, R"({"pause_ms":5000})");
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  // Four and a half seconds, more than twice the lease, on both gateways.
  for (const auto until = steady::now() + 4500ms; steady::now() < until;) {
    t.problem(t.send(sent), 409, in_progress);
    t.problem(trial::send(sent, t.n2()), 409, in_progress);
    std::this_thread::sleep_for(200ms);
  }
  const reply original = owner.get();
  t.first(original, 201);
  t.replay_of(t.send(sent), original);
  t.ran(one, 1);
}

void stopped_rerunnable(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"gate":true},{}])");
  node_options options = t.own_options();
  options.routes = "[[route]]\npath = \"/ro/e\"\nclass = \"rerunnable\"\nlease = \"2s\"\n";
  const node_pair nodes{t, options};
  const request sent = trial::post(one, "/ro/e");
  auto late = stopped_owner(t, nodes, one, sent);
  const reply winner = trial::send_until_settled(sent, *nodes.b, lapse_patience);
  t.first(winner, 201);
  t.open_gate(one, 1);
  nodes.a->resume();
  judge_late_owner(t, late.get(), winner);
  const auto runs = t.runs(one, 2, 2);
  t.expect(runs.size() == 2 && runs[0].key == runs[1].key && !runs[0].key.empty(),
           "both runs carry one key, by which a provider tells that they are one");
}

void parked(trial& t) {
  const subject one = t.fresh();
  node_options options = t.own_options();
  options.defaults = short_retention;
  const node_pair nodes{t, options};
  const request sent = trial::post(one, "/park", R"({"gate":true})");
  park(t, nodes, one, sent);
  std::this_thread::sleep_for(5s);  // longer than lease and retention together
  t.expect(nodes.b->command({"purge"}, {}).code == 0, "the purge ends well");
  t.problem(trial::send(sent, *nodes.b), 409, unknown);
  const auto settled = nodes.b->command(
      {"keys", "settle"},
      {"--scope", one.tenant, "--key", one.key.substr(1, one.key.size() - 2), "--attempt", "1",
       "--status", "201", "--body", "settled", "--reason", "the provider's books"});
  t.expect(settled.code == 0, "the operator settles the key: " + settled.output);
  const reply seen = trial::send(sent, *nodes.b);
  t.replayed(seen, 201);
  t.expect(seen.body == "settled", "the answer that the operator gave");
  t.ran(one, 1);
}

void stale_settle(trial& t) {
  const subject one = t.fresh();
  const node_pair nodes{t};
  const request sent = trial::post(one, "/park", R"({"gate":true})");
  park(t, nodes, one, sent);
  const auto release = [&](const char* attempt) {
    return nodes.b->command({"keys", "release"},
                            {"--scope", one.tenant, "--key", one.key.substr(1, one.key.size() - 2),
                             "--attempt", attempt, "--reason", "a test"});
  };
  t.expect(release("7").code != 0, "an attempt that is not the record's is refused");
  t.problem(trial::send(sent, *nodes.b), 409, unknown);
  const auto right = release("1");
  t.expect(right.code == 0, "the record's own attempt is taken: " + right.output);
  t.open_gate(one, 2);
  t.first(trial::send(sent, *nodes.b), 201);
  t.ran(one, 2);
}

void checked_lease(trial& t) {
  node_options options = t.own_options();
  options.routes = "[[route]]\npath = \"/long/e\"\nlease = \"3s\"\ntimeout = \"33s\"\n";
  const auto own = t.own_node(options);
  const auto warned = own->command({"check"}, {});
  t.expect(warned.code == 0 && warned.output.find("/long/e") != std::string::npos &&
               warned.output.find("lease") != std::string::npos,
           "check warns of a timeout beyond the lease: " + warned.output);
  options.routes = "[[route]]\npath = \"/long/e\"\nlease = \"1s\"\n";
  bool refused = false;
  try {
    t.own_node(options);
  } catch (const std::runtime_error& problem) {
    refused = std::string_view{problem.what()}.find("lease") != std::string_view::npos;
  }
  t.expect(refused, "a lease under two seconds stops the start with a line that names it");
}

void same_key_downstream(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"do":"hang"},{}])");
  const node_pair nodes{t};
  const request sent = trial::post(one, path);
  auto lost = trial::start(sent, *nodes.a);
  t.await_runs(one, 1);
  nodes.a->kill();
  lost.get();
  t.first(trial::send_until_settled(sent, *nodes.b, lapse_patience), 201);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 2 && runs[0].attempt == "1" && runs[1].attempt == "2",
           "two runs, attempts 1 and 2");
  for (const run_row& run : runs) {
    t.expect(run.key == one.key, "each run carries the client's key, seen " + run.key);
  }
}

void bounded_attempts(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"do":"reset"},{"do":"reset"},{"do":"reset"},{}])");
  node_options options = t.own_options();
  options.routes = "[[route]]\npath = \"/few/e\"\nlease = \"2s\"\nmax_attempts = 3\n";
  const auto own = t.own_node(options);
  const request sent = trial::post(one, "/few/e");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    t.problem(trial::send_until_settled(sent, *own, lapse_patience), 502, "upstream_broken");
  }
  t.problem(send_until_lapsed(sent, *own), 409, unknown);
  t.ran(one, 3);
}

void late_answer(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/late/e", R"({"gate":true})");
  const reply gone = t.send(sent);
  t.problem(gone, 504, "upstream_timeout");
  t.expect(gone.took >= 900ms, "not before the route's timeout");
  t.problem(t.send(sent), 409, in_progress);
  t.open_gate(one, 1);
  t.replayed(trial::send_until_settled(sent, t.n1(), 5s), 201);
  t.ran(one, 1);
}

constexpr std::array rows{
    row{"L-01 C15", "Whoever asks while a dead owner's lease runs is told to come back.",
        killed_then_early_retry},
    row{"L-02 C16 C70", "After a dead owner's lease the retry runs, as attempt 2.",
        killed_then_late_retry},
    row{"L-03 C12", "Fifty clients that wait for a dead owner's lease make one takeover.",
        killed_then_storm},
    row{"L-04 C26",
        "An owner that comes back after a takeover gets the winner's answer and changes nothing.",
        late_after_takeover},
    skipped_row("L-05", "In class atomic the late owner's effect is rolled back.",
                "about the application's own transaction: tests/fault, crash_matrix.K17_L05"),
    row{"L-06", "An owner that comes back before any takeover may still complete.",
        late_without_takeover},
    skipped_row("L-07", "A takeover that meets an uncommitted completion waits for its truth.",
                "about the application's own transaction: stores/postgres, postgres_lane.L07"),
    skipped_row("L-08", "A row held by its owner's open transaction is not taken over.",
                "about the application's own transaction: stores/postgres, postgres_lane.L08"),
    row{"L-09 C27", "A late owner's release does not free the new owner's claim.", late_release},
    row{"L-10", "A late owner's renewal does not lengthen the new owner's lease.", late_renewal},
    row{"L-11", "A record that was purged and made anew is closed to the old owner.",
        recreated_record},
    row{"L-12 C19", "A run longer than its lease keeps its claim by renewing it.", renewed_lease},
    row{"L-13", "Both runs around a stopped owner carry the key by which a provider knows them.",
        stopped_rerunnable},
    row{"L-14 K8", "A parked key stays unknown until an operator settles it, and is replayed then.",
        parked},
    row{"L-15", "An operator's decision about another attempt is refused.", stale_settle},
    row{"L-16", "A timeout beyond the lease is warned of, a lease too short to renew refused.",
        checked_lease},
    skipped_row("L-17", "A node with a wrong clock neither takes over early nor expires early.",
                "nodes on SQLite are one host with one clock"),
    row{"L-18 C16 K8", "A takeover carries the same key to the application.", same_key_downstream},
    row{"L-19", "After as many lost attempts as the route allows the outcome is unknown.",
        bounded_attempts},
    row{"L-20", "An answer that comes after the client's timeout is recorded and replayed.",
        late_answer},
};

}  // namespace

std::span<const row> lease_rows() {
  return rows;
}

}  // namespace conform
