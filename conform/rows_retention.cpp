// How long a key and its answer are remembered.
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <conform/lost_owner.hpp>
#include <conform/materials.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

constexpr const char* unavailable = "idempotency_response_unavailable";

// Sends again while the answer is a replay, for a bounded time.
reply once_not_replayed(const request& one, const node& at) {
  const auto until = steady::now() + 10s;
  for (;;) {
    reply seen = trial::send(one, at);
    if (!seen.replayed() || steady::now() > until) return seen;
    std::this_thread::sleep_for(50ms);
  }
}

void body_gone(trial& t) {
  const subject one = t.fresh();
  const request asked =
      trial::post(one, "/brief-body/e", R"({"headers":[["Location","/v1/things/1"]]})");
  t.first(t.send(asked), 201);
  const reply later = once_not_replayed(asked, t.n1());
  t.problem(later, 409, unavailable);
  t.expect(json_member(later.body, "original_status") == "201" &&
               json_member(later.body, "location") == "/v1/things/1",
           "what is still known of the answer, seen " + later.body);
  const subject bodyless = t.fresh();
  t.script(bodyless, R"([{"status":204}])");
  const request empty = trial::post(bodyless, "/brief-body/e");
  t.first(t.send(empty), 204);
  std::this_thread::sleep_for(600ms);
  t.replayed(t.send(empty), 204);
  t.ran(one, 1);
}

void key_gone(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, "/moment/e")), 201);
  const reply again = once_not_replayed(trial::post(one, "/moment/e"), t.n1());
  t.first(again, 201);
  const subject other = t.fresh();
  t.first(t.send(trial::post(other, "/moment/e")), 201);
  std::this_thread::sleep_for(600ms);
  t.first(t.send(trial::post(other, "/moment/e", R"({"note":"another payload"})")), 201);
  t.ran(one, 2);
  t.ran(other, 2);
}

void after_purge(trial& t) {
  node_options options = t.own_options();
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, "/moment/e"), *own), 201);
  std::this_thread::sleep_for(600ms);
  t.expect(own->command({"purge"}, {}).code == 0, "the purge verb works beside the gateway");
  t.first(t.send(trial::post(one, "/moment/e"), *own), 201);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 2 && runs.back().attempt == "1", "a purged key begins at attempt 1");
}

void live_claim_stays(trial& t) {
  node_options options = t.own_options();
  options.routes =
      "[[route]]\npath = \"/tiny/e\"\nlease = \"2s\"\nretention = \"1ms\"\nkey_retention = "
      "\"1ms\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  const request asked = trial::post(one, "/tiny/e", R"({"gate":true})");
  auto running = trial::start(asked, *own);
  t.await_runs(one, 1);
  std::this_thread::sleep_for(3s);
  t.expect(own->command({"purge"}, {}).code == 0, "the purge verb works beside the gateway");
  t.problem(t.send(asked, *own), 409, "idempotency_key_in_progress");
  t.open_gate(one, 1);
  t.first(running.get(), 201);
  t.ran(one, 1);
}

void racers_at_expiry(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{},{"gate":true}])");
  const request asked = trial::post(one, "/moment/e");
  t.first(t.send(asked), 201);
  std::this_thread::sleep_for(600ms);
  auto racers = std::async(std::launch::async, [&] {
    return simultaneously(asked, 50, {&t.n1(), &t.n2()});
  });
  t.await_runs(one, 2);
  std::this_thread::sleep_for(300ms);
  t.open_gate(one, 2);
  int firsts = 0;
  for (const reply& seen : racers.get()) {
    if (seen.status == 201 && !seen.replayed()) ++firsts;
    t.expect(seen.status == 201 || seen.status == 409, "won or told to come back: " + shown(seen));
  }
  t.expect(firsts == 1, "exactly one new claim, seen " + std::to_string(firsts));
  t.ran(one, 2);
}

std::string uuidv7(std::chrono::milliseconds since_1970) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made = "00000000-0000-7000-8000-00000000000";
  auto count = static_cast<std::uint64_t>(since_1970.count());
  for (int at = 12; at >= 0; --at) {
    if (at == 8) continue;
    made[static_cast<std::size_t>(at)] = digits[count & 15U];
    count >>= 4U;
  }
  static std::atomic<unsigned> last{0};
  return '"' + made + std::string(1, digits[last++ % 16]) + '"';
}

std::string ulid(std::chrono::milliseconds since_1970) {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string made = "0000000000ZZZZZZZZZZZZZZZZ";
  auto count = static_cast<std::uint64_t>(since_1970.count());
  for (int at = 9; at >= 0; --at) {
    made[static_cast<std::size_t>(at)] = digits[count & 31U];
    count >>= 5U;
  }
  return '"' + made + '"';
}

std::chrono::milliseconds since_1970() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

void dated_keys(trial& t, std::chrono::milliseconds off, bool taken) {
  const auto made_at = since_1970() + off;
  for (const auto& [path, key] :
       {std::pair{"/uuid7/e", uuidv7(made_at)}, std::pair{"/ulid/e", ulid(made_at)}}) {
    const subject one = trial::with_key(t.fresh(), key);
    if (taken) {
      t.first(t.send(trial::post(one, path)), 201);
    } else {
      t.problem(t.send(trial::post(one, path)), 412, "idempotency_key_expired");
    }
    t.ran(one, taken ? 1 : 0);
  }
}

void first_sent(trial& t) {
  const subject one = t.fresh();
  const auto at = [&](const std::string& when) {
    return t.send(trial::post(one, "/sent/e").add("Repeatability-First-Sent", when));
  };
  t.problem(at("yesterday"), 400, "idempotency_key_invalid");
  t.problem(at("2026-12-01T00:00:00Z"), 400, "idempotency_key_invalid");
  t.problem(t.send(trial::post(one, "/sent/e")), 400, "idempotency_key_invalid");
  t.problem(at(fixdate(-8 * 24h)), 412, "idempotency_key_expired");
  t.problem(at(fixdate(10min)), 412, "idempotency_key_expired");
  const subject half = t.fresh();
  t.problem(t.send(trial::post(half, "/sent/e")
                       .drop("Idempotency-Key")
                       .add("Repeatability-First-Sent", fixdate(0s))),
            400, "idempotency_key_missing");
  t.ran(one, 0);
  t.first(at(fixdate(0s)), 201);
  t.ran(one, 1);
}

void purge_beside_traffic(trial& t) {
  node_options options = t.own_options();
  const auto own = t.own_node(options);
  for (int i = 0; i < 300; ++i) {
    t.first(t.send(trial::post(t.fresh(), "/moment/e"), *own), 201);
  }
  auto purging = std::async(std::launch::async, [&] { return own->command({"purge"}, {}); });
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one), *own);
  t.first(original, 201);
  t.expect(purging.get().code == 0, "the purge ends well");
  t.replay_of(t.send(trial::post(one), *own), original);
}

void parked_stays(trial& t) {
  node_options options = t.own_options();
  options.routes =
      "[[route]]\npath = \"/short-park/e\"\nlease = \"2s\"\non_lapsed = \"park\"\nretention = "
      "\"1ms\"\nkey_retention = \"1ms\"\nreleased_retention = \"1ms\"\n";
  const node_pair nodes{t, options};
  const subject one = t.fresh();
  const request asked = trial::post(one, "/short-park/e", R"({"gate":true})");
  park(t, nodes, one, asked);
  t.expect(nodes.b->command({"purge"}, {}).code == 0, "the purge verb works beside the gateway");
  t.problem(t.send(asked, *nodes.b), 409, "idempotency_outcome_unknown");
  t.open_gate(one, 1);
  t.ran(one, 1);
}

constexpr std::array rows{
    row{"T-01", "Past the body's retention the retry learns what is known, and nothing runs.",
        body_gone},
    row{"T-02 C71", "Past the key's retention the key is new, for any payload.", key_gone},
    row{"T-03", "A purged key is new.", after_purge},
    row{"T-04 C72", "A purge leaves a live claim alone, however old.", live_claim_stays},
    row{"T-05 C71 C73", "At the end of the retention exactly one of many racers wins.",
        racers_at_expiry, company::alone},
    row{"T-06", "A dated key that is older than its record can live is refused.",
        [](trial& t) {
          dated_keys(t, -8 * 24h, false);
          dated_keys(t, -6 * 24h, true);
        }},
    row{"T-07", "A key from the future is refused, beyond what a clock may be wrong.",
        [](trial& t) {
          dated_keys(t, 10min, false);
          dated_keys(t, 2min, true);
        }},
    row{"T-08", "A time of first sending is judged like a dated key, and half a pair is refused.",
        first_sent},
    row{"T-09 C74", "Claims are answered while a purge goes on.", purge_beside_traffic},
    row{"T-10", "A parked key outlives every retention.", parked_stays},
    skipped_row("T-11", "A completed key without its body is small.",
                "a size on disk: ./dev bench records measures it"),
};

}  // namespace

std::span<const row> retention_rows() {
  return rows;
}

}  // namespace conform
