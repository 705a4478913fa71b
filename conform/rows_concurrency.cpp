// Several requests with one key at the same time.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <string>
#include <thread>

#include <conform/row.hpp>
#include <conform/stalled_door.hpp>

namespace conform {
namespace {

constexpr std::string_view in_progress = "idempotency_key_in_progress";

// Long enough for a second request to arrive meanwhile, on any machine.
constexpr const char* gated = R"({"gate":true})";

void two_at_once(trial& t) {
  const subject one = t.fresh();
  auto owner = t.start(trial::post(one, "/e", gated));
  if (!t.await_runs(one, 1)) return;
  t.problem(t.send(trial::post(one, "/e", gated)), 409, in_progress);
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  t.ran(one, 1);
}

// Exactly one first answer; every other one is a replay of it or "in progress".
void judge_race(trial& t, const std::vector<reply>& answers) {
  const reply* winner = nullptr;
  int firsts = 0;
  for (const reply& seen : answers) {
    if (seen.status == 201 && !seen.replayed()) {
      winner = &seen;
      ++firsts;
    }
  }
  if (!t.expect(firsts == 1, "one first answer, seen " + std::to_string(firsts))) return;
  for (const reply& seen : answers) {
    if (&seen == winner) continue;
    if (seen.status == 409) {
      t.problem(seen, 409, in_progress);
    } else {
      t.replay_of(seen, *winner);
    }
  }
}

void two_hundred_racers(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", R"({"pause_ms":50})");
  judge_race(t, simultaneously(sent, 200, {&t.n1(), &t.n2()}));
  t.ran(one, 1);
}

// One group of racers goes through its keys together, each racer on a connection of its own.
void race_keys(trial& t, int racers, int keys) {
  std::vector<subject> subjects;
  for (int i = 0; i < keys; ++i) subjects.push_back(t.fresh());
  std::vector<std::vector<reply>> answers(static_cast<std::size_t>(keys),
                                          std::vector<reply>(static_cast<std::size_t>(racers)));
  std::barrier together{racers};
  in_parallel(racers, [&](int i) {
    connection own{i % 2 == 0 ? t.n1().port() : t.n2().port()};
    for (std::size_t k = 0; k < subjects.size(); ++k) {
      const request sent = trial::post(subjects[k]);
      together.arrive_and_wait();
      answers[k][static_cast<std::size_t>(i)] = own.exchange(sent);
    }
  });
  for (std::size_t k = 0; k < subjects.size(); ++k) {
    judge_race(t, answers[k]);
    t.ran(subjects[k], 1);
  }
}

void two_thousand_keys(trial& t) {
  // Ten racers a node keep two cores busy; the long form has a hundred.
  const int racers = t.deep() ? 200 : 20;
  constexpr int groups = 4;
  in_parallel(groups, [&](int) { race_keys(t, racers, 2000 / groups); });
}

void waits_for_the_answer(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/wait/e", R"({"pause_ms":1000})");
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  const reply waited = t.send(sent);
  const reply original = owner.get();
  t.first(original, 201);
  t.replay_of(waited, original);
  t.expect(waited.took < 2s, "the waiter is answered as soon as the owner is");
  t.ran(one, 1);
}

void waits_no_longer(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/brief/e", gated);
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  const reply waited = t.send(sent);
  t.problem(waited, 409, in_progress);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(waited.took);
  t.expect(took >= 400ms && took <= 600ms,
           "after 500 ms, seen after " + std::to_string(took.count()) + " ms");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

// The route would wait five seconds.
void preferred_wait(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/wait/e", gated);
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  const reply shorter = t.send(request{sent}.add("Prefer", "respond-async, wait=1"));
  t.problem(shorter, 409, in_progress);
  t.expect(shorter.took >= 900ms && shorter.took <= 3s, "a second, as the client would have it");
  const reply never = t.send(request{sent}.add("Prefer", "wait=0"));
  t.problem(never, 409, in_progress);
  t.expect(never.took <= 900ms, "not at all, as the client would have it");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  // On a route that waits half a second at most, more cannot be had.
  const subject two = t.fresh();
  const request brief = trial::post(two, "/brief/e", gated);
  auto other = t.start(brief);
  if (!t.await_runs(two, 1)) return;
  const reply capped = t.send(request{brief}.add("Prefer", "wait=10"));
  t.problem(capped, 409, in_progress);
  t.expect(capped.took <= 3s, "no longer than the route allows");
  t.open_gate(two, 1);
  t.first(other.get(), 201);
}

void waiting_room_full(trial& t) {
  const subject one = t.fresh();
  node_options options = t.own_options();
  options.limits = "wait_slots = 2\n";
  const auto own = t.own_node(options);
  const request sent = trial::post(one, "/wait/e", gated);
  auto owner = trial::start(sent, *own);
  if (!t.await_runs(one, 1)) return;
  // Of three duplicates one finds no place and is answered while the others still wait.
  std::vector<std::future<reply>> duplicates;
  for (int i = 0; i < 3; ++i) duplicates.push_back(trial::start(sent, *own));
  const auto answered = [&] {
    return std::count_if(duplicates.begin(), duplicates.end(), [](auto& one_of) {
      return one_of.wait_for(0s) == std::future_status::ready;
    });
  };
  for (const auto until = steady::now() + 3s; answered() == 0 && steady::now() < until;) {
    std::this_thread::sleep_for(10ms);
  }
  t.expect(answered() == 1, "one duplicate answered at once, seen " + std::to_string(answered()));
  const subject other = t.fresh();
  t.first(trial::send(trial::post(other), *own), 201);
  t.open_gate(one, 1);
  const reply original = owner.get();
  t.first(original, 201);
  int refused = 0;
  for (auto& duplicate : duplicates) {
    const reply seen = duplicate.get();
    if (seen.status == 409) {
      t.problem(seen, 409, in_progress);
      ++refused;
    } else {
      t.replay_of(seen, original);
    }
  }
  t.expect(refused == 1,
           "two waiters and one refused, seen " + std::to_string(refused) + " refused");
  t.ran(one, 1);
}

void owner_leaves(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/wait/e", gated);
  auto owner = std::make_unique<connection>(t.n1().port());
  owner->send(sent);
  if (!t.await_runs(one, 1)) return;
  auto waiter = t.start(sent);
  owner.reset();
  t.expect(waiter.wait_for(200ms) == std::future_status::timeout, "the duplicate waits");
  t.open_gate(one, 1);
  t.replayed(waiter.get(), 201);
  t.ran(one, 1);
}

void pipelined(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", R"({"pause_ms":100})");
  connection client{t.n1().port()};
  client.raw().write(sent.bytes() + sent.bytes());
  const reply original = client.receive();
  t.first(original, 201);
  t.replay_of(client.receive(), original);
  t.ran(one, 1);
}

void after_retry_after(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", R"({"pause_ms":600})");
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  const reply refused = t.send(sent);
  if (!t.problem(refused, 409, in_progress)) return;
  const long seconds = std::strtol(refused.get("Retry-After").c_str(), nullptr, 10);
  if (!t.expect(seconds >= 1 && seconds <= 5, "a Retry-After that fits so young a run")) return;
  std::this_thread::sleep_for(std::chrono::seconds{seconds});
  t.replayed(t.send(sent), 201);
  t.first(owner.get(), 201);
  t.ran(one, 1);
}

// Runs of one key follow each other; all but the last ended in the released 503.
void judge_runs(trial& t, std::vector<run_row> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const run_row& a, const run_row& b) { return a.start_us < b.start_us; });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool last = i + 1 == runs.size();
    t.expect(runs[i].status == (last ? 201 : 503), "runs until the first final answer, no further");
    if (!last) {
      t.expect(runs[i].end_us != 0 && runs[i].end_us <= runs[i + 1].start_us,
               "no two runs of one key overlap");
    }
  }
}

void race_through_failures(trial& t, const subject& one, int racers) {
  // As many 503s as the name says, from none to three: half of all runs or so.
  const int failures = static_cast<unsigned char>(one.name.back()) % 4;
  std::string steps;
  for (int i = 0; i < failures; ++i) steps += R"({"status":503,"pause_ms":10},)";
  t.script(one, "[" + steps + R"({"pause_ms":10}])");
  in_parallel(racers, [&](int i) {
    const node& at = i % 2 == 0 ? t.n1() : t.n2();
    const auto until = steady::now() + 20s;
    for (;;) {
      const reply seen = trial::send(trial::post(one), at);
      if (seen.status == 201) return;
      if (seen.status != 409 && !t.first(seen, 503)) return;
      if (!t.expect(steady::now() < until, "the key settles within 20 s")) return;
      std::this_thread::sleep_for(25ms);
    }
  });
  const auto runs = t.runs(one);
  t.expect(runs.size() == static_cast<std::size_t>(failures) + 1,
           std::to_string(failures + 1) + " runs, seen " + std::to_string(runs.size()));
  judge_runs(t, runs);
}

void racers_through_failures(trial& t) {
  constexpr int keys = 50;
  constexpr int at_once = 10;
  for (int done = 0; done < keys; done += at_once) {
    in_parallel(at_once, [&](int) { race_through_failures(t, t.fresh(), 20); });
  }
}

void released_while_waiting(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":503,"gate":true},{}])");
  const request sent = trial::post(one, "/wait/e");
  auto owner = t.start(sent);
  if (!t.await_runs(one, 1)) return;
  auto waiter = t.start(sent);
  t.expect(waiter.wait_for(200ms) == std::future_status::timeout, "the duplicate waits");
  t.open_gate(one, 1);
  t.first(owner.get(), 503);
  const reply waited = waiter.get();
  if (waited.status == 409) {
    t.problem(waited, 409, in_progress);
    t.first(t.send(sent), 201);
  } else {
    t.first(waited, 201);
  }
  t.ran(one, 2);
}

void before_dispatch(trial& t) {
  const subject one = t.fresh();
  stalled_door door;
  node_options options = t.own_options();
  options.upstream = door.port();
  options.limits = "connect_timeout = \"10s\"\n";
  const auto own = t.own_node(options);
  auto owner = trial::start(trial::post(one), *own);
  // The owner waits for its connection; whether its claim stands already only a duplicate can say,
  // and the first to arrive would be an owner itself.
  std::this_thread::sleep_for(200ms);
  t.expect(owner.wait_for(0s) == std::future_status::timeout, "the owner waits for the upstream");
  t.problem(trial::send(trial::post(one), *own), 409, in_progress);
  t.expect(door.requests() == 0, "nothing was dispatched yet");
  door.open();
  const reply original = owner.get();
  t.first(original, 201);
  t.replay_of(trial::send(trial::post(one), *own), original);
  t.expect(door.requests() == 1, "one dispatch");
}

void distinct_keys_in_parallel(trial& t) {
  constexpr int keys = 20;
  std::vector<subject> subjects;
  for (int i = 0; i < keys; ++i) subjects.push_back(t.fresh());
  const auto start = steady::now();
  in_parallel(keys, [&](int i) {
    const subject& one = subjects[static_cast<std::size_t>(i)];
    t.first(t.send(trial::post(one, "/e", R"({"pause_ms":500})")), 201);
  });
  t.expect(steady::now() - start < 2s, "twenty half seconds side by side, not one by one");
  for (const subject& one : subjects) t.ran(one, 1);
}

constexpr std::array rows{
    row{"C-01", "Of two requests at once one runs and the other is told to come back.",
        two_at_once},
    row{"C-02 C01 C03", "Two hundred requests at once over two gateways are one run.",
        two_hundred_racers, company::alone},
    row{"C-03 C07", "Two thousand keys, each raced for over two gateways, are two thousand runs.",
        two_thousand_keys, company::alone},
    row{"C-04", "On a waiting route a duplicate gets the answer as soon as the owner does.",
        waits_for_the_answer, company::alone},
    row{"C-05 C13", "A duplicate waits no longer than its route says.", waits_no_longer,
        company::alone},
    row{"C-06", "A client may ask to wait less than its route would, and never more.",
        preferred_wait, company::alone},
    row{"C-07 C13",
        "When the places to wait are taken, duplicates are answered at once and others run.",
        waiting_room_full},
    row{"C-08", "The owner's client may leave; whoever waits gets the answer.", owner_leaves},
    row{"C-09 C09", "Two pipelined requests with one key are one run and its replay, in order.",
        pipelined},
    row{"C-10", "Who comes back after Retry-After gets the replay.", after_retry_after},
    row{"C-11",
        "Fifty keys, twenty racers each, failing runs: one run at a time, until one is final.",
        racers_through_failures, company::alone},
    row{"C-12", "A duplicate that waits for a run that fails runs itself or comes back.",
        released_while_waiting},
    row{"C-13", "Between claim and dispatch a duplicate is already in progress.", before_dispatch},
    row{"C-14", "Requests with different keys run side by side.", distinct_keys_in_parallel,
        company::alone},
};

}  // namespace

std::span<const row> concurrency_rows() {
  return rows;
}

}  // namespace conform
