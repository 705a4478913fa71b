// The gateway's bad days: ended at every step, a store that stalls, fills up or is damaged.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <cli/test_support.hpp>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

namespace callonce::cli::test {
namespace {

using namespace std::chrono_literals;

const lines keyed{"X-Api-Key: tenant", "Idempotency-Key: one"};

std::string config_text(const application& behind, const std::string& store) {
  return "upstream = \"" + behind.url() +
         "\"\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n"
         "[store]\nurl = \"sqlite:" +
         store +
         "\"\ntimeout = \"1s\"\n[scope]\nfrom = \"header:X-Api-Key\"\n"
         "[defaults]\nlease = \"2s\"\ntimeout = \"10s\"\n";
}

reply charge(const served& gateway, const lines& headers = keyed) {
  return ask(gateway.port(), "POST", "/charges", headers, "amount=1");
}

// Asks until `good`, as a patient client does; the last answer otherwise.
reply ask_until(const std::function<bool(const reply&)>& good, const std::function<reply()>& once) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  reply last = once();
  while (!good(last) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
    last = once();
  }
  return last;
}

bool has_code(const reply& of, const std::string& code) {
  return of.body.find("\"code\":\"" + code + "\"") != std::string::npos;
}

// Another program that works on the store's file.
class other_program {
 public:
  explicit other_program(const std::string& file) { sqlite3_open(file.c_str(), &handle_); }
  ~other_program() { sqlite3_close(handle_); }
  other_program(const other_program&) = delete;
  other_program& operator=(const other_program&) = delete;

  void execute(const char* sql) {
    sqlite3_busy_timeout(handle_, 5000);
    char* fault = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql, nullptr, nullptr, &fault), SQLITE_OK) << fault;
    sqlite3_free(fault);
  }

 private:
  sqlite3* handle_ = nullptr;
};

struct ending {
  const char* fact;
  bool recorded;  // The answer was durable when the process ended.
  int effects;    // All in all, for an opaque route.
};

void PrintTo(const ending& which, std::ostream* out) {
  *out << which.fact;
}

class killed_at : public testing::TestWithParam<ending> {};

// K5, K6, K8, K11, K12: what a kill -9 leaves, and what the retries then get.
TEST_P(killed_at, the_next_start_takes_over_or_replays) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind, (at / "keys.db").string()));
  {
    ::setenv("CALLONCE_FAULT", (std::string{"kill "} + GetParam().fact).c_str(), 1);
    served doomed{{"--config", file}};
    ::unsetenv("CALLONCE_FAULT");
    const reply lost = charge(doomed);
    // Behind `sent` the answer may or may not have left the machine.
    if (std::string{GetParam().fact} != "sent") {
      EXPECT_EQ(lost.status, 0);
    }
    doomed.wait();
  }
  served next{{"--config", file}};
  const reply first = charge(next);
  if (GetParam().recorded) {
    EXPECT_EQ(first.status, 201);
    EXPECT_TRUE(first.has("Idempotent-Replayed: true"));
  } else {
    EXPECT_EQ(first.status, 409);
    EXPECT_TRUE(has_code(first, "idempotency_key_in_progress"));
  }
  const reply settled =
      ask_until([](const reply& of) { return of.status == 201; }, [&] { return charge(next); });
  ASSERT_EQ(settled.status, 201);
  const reply again = charge(next);
  EXPECT_EQ(again.body, settled.body);
  EXPECT_TRUE(again.has("Idempotent-Replayed: true"));
  EXPECT_EQ(behind.calls(), GetParam().effects);
  EXPECT_EQ(next.stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(fault, killed_at,
                         testing::Values(ending{"claimed", false, 1},
                                         ending{"dispatched", false, 1},
                                         ending{"answered", false, 2}, ending{"completed", true, 1},
                                         ending{"sent", true, 1}),
                         [](const auto& each) { return std::string{each.param.fact}; });

// L-13, K18: a gateway that was stopped past its lease is fenced when it goes on.
TEST(fault, a_stopped_owner_that_goes_on_changes_nothing) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind, (at / "keys.db").string()));
  ::setenv("CALLONCE_FAULT", "stop answered", 1);
  served stopped{{"--config", file}};
  ::unsetenv("CALLONCE_FAULT");
  served other{{"--config", file}};
  connection waiting{stopped.port()};
  waiting.send(request_text("POST", "/charges", keyed, "amount=1"));
  behind.await_calls(1);
  const reply winner =
      ask_until([](const reply& of) { return of.status == 201; }, [&] { return charge(other); });
  ASSERT_EQ(winner.status, 201);
  EXPECT_EQ(winner.body, "call 2");
  stopped.signal(SIGCONT);
  const reply late = waiting.read();
  EXPECT_EQ(late.status, 201);
  EXPECT_EQ(late.body, winner.body) << "a zombie's own answer must not be seen";
  EXPECT_TRUE(late.has("Idempotent-Replayed: true"));
  EXPECT_EQ(charge(other).body, winner.body);
  EXPECT_EQ(other.stop(), 0);
  EXPECT_EQ(stopped.stop(), 0);
}

// K26, L-17: the date is set while a request runs, and again behind it.
TEST(fault, a_wall_clock_that_jumps_ends_no_lease_and_repeats_no_effect) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind, (at / "keys.db").string()))}};
  const auto ask_again = [&] { return ask(gateway.port(), "POST", "/hang", keyed, "amount=1"); };
  connection client{gateway.port()};
  client.send(request_text("POST", "/hang", keyed, "amount=1"));
  behind.await_calls(1);
  for (const int jump : {SIGUSR1, SIGUSR2, SIGUSR2}) {
    gateway.signal(jump);
    const reply duplicate = ask_again();
    EXPECT_EQ(duplicate.status, 409);
    EXPECT_TRUE(has_code(duplicate, "idempotency_key_in_progress"));
  }
  behind.let_go();
  const reply first = client.read();
  EXPECT_EQ(first.status, 201);
  for (const int jump : {SIGUSR2, SIGUSR1}) {
    gateway.signal(jump);
    const reply again = ask_again();
    EXPECT_EQ(again.body, first.body);
    EXPECT_TRUE(again.has("Idempotent-Replayed: true"));
  }
  EXPECT_EQ(behind.calls(), 1);
  EXPECT_EQ(gateway.stop(), 0);
}

// While the store cannot be written nothing runs, what needs no record flows on.
TEST(fault, X01_C76_a_stalled_store_refuses_new_claims_and_recovers) {
  const scratch at;
  application behind;
  const std::string store = (at / "keys.db").string();
  served gateway{{"--config", at.file("c.toml", config_text(behind, store))}};
  {
    other_program holds{store};
    holds.execute("begin immediate");
    const reply refused = charge(gateway);
    EXPECT_EQ(refused.status, 503);
    EXPECT_TRUE(has_code(refused, "idempotency_store_unavailable"));
    EXPECT_TRUE(refused.has("Retry-After: 1"));
    EXPECT_EQ(behind.calls(), 0);
    EXPECT_EQ(ask(gateway.port(), "GET", "/charges").status, 201);
    EXPECT_EQ(ask(gateway.admin(), "GET", "/readyz").status, 503);
    EXPECT_EQ(ask(gateway.admin(), "GET", "/healthz").status, 200);
    holds.execute("rollback");
  }
  // The claim that was given up for lost may be there, and is released by itself.
  const reply after =
      ask_until([](const reply& of) { return of.status == 201; }, [&] { return charge(gateway); });
  EXPECT_EQ(after.status, 201);
  EXPECT_EQ(behind.calls(), 2);
  const reply ready = ask_until([](const reply& of) { return of.status == 200; },
                                [&] { return ask(gateway.admin(), "GET", "/readyz"); });
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(gateway.stop(), 0);
}

// C77, K20: the effect has happened and the store does not take the completion.
TEST(fault, a_true_answer_is_sent_unrecorded_and_recorded_when_the_store_is_back) {
  const scratch at;
  application behind;
  const std::string store = (at / "keys.db").string();
  const std::string file = at.file("c.toml", config_text(behind, store));
  {
    served gateway{{"--config", file}};
    connection client{gateway.port()};
    client.send(request_text("POST", "/hang", keyed, "amount=1"));
    behind.await_calls(1);
    other_program holds{store};
    holds.execute("begin immediate");
    behind.let_go();
    const reply first = client.read();
    EXPECT_EQ(first.status, 201);
    EXPECT_TRUE(first.has("Idempotency-Recorded: ?0"));
    const reply duplicate = ask(gateway.port(), "POST", "/hang", keyed, "amount=1");
    EXPECT_EQ(duplicate.status, 201);
    EXPECT_EQ(duplicate.body, first.body);
    holds.execute("rollback");
    const reply recorded = ask_until(
        [](const reply& of) { return of.status == 201 && !of.has("Idempotency-Recorded: ?0"); },
        [&] { return ask(gateway.port(), "POST", "/hang", keyed, "amount=1"); });
    EXPECT_EQ(recorded.body, first.body);
    EXPECT_FALSE(recorded.has("Idempotency-Recorded: ?0"));
    EXPECT_EQ(gateway.stop(), 0);
  }
  served next{{"--config", file}};
  EXPECT_EQ(ask(next.port(), "POST", "/hang", keyed, "amount=1").body, "call 1");
  EXPECT_EQ(behind.calls(), 1);
}

// no room for the claim, so nothing runs; with room again, it does.
TEST(fault, a_full_disk_at_the_claim_is_503_without_an_effect) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind, (at / "keys.db").string()));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  // Inherited by the gateway, and a little more than its empty store and log take.
  const rlimit small{256 << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  served gateway{{"--config", file}};
  ::setrlimit(RLIMIT_FSIZE, &before);
  int executed = 0;
  reply last;
  for (int at_once = 0; at_once < 2000; ++at_once) {
    last = charge(gateway, {"X-Api-Key: tenant", "Idempotency-Key: k" + std::to_string(at_once)});
    if (last.status != 201) break;
    ++executed;
  }
  EXPECT_TRUE(last.status == 503 || last.has("Idempotency-Recorded: ?0")) << last.head;
  const int calls = behind.calls();
  const reply refused = charge(gateway, {"X-Api-Key: tenant", "Idempotency-Key: full"});
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(has_code(refused, "idempotency_store_unavailable"));
  EXPECT_EQ(behind.calls(), calls);
  gateway.signal(SIGKILL);
  gateway.wait();
  served next{{"--config", file}};
  EXPECT_EQ(charge(next, {"X-Api-Key: tenant", "Idempotency-Key: full"}).status, 201);
  EXPECT_EQ(charge(next, {"X-Api-Key: tenant", "Idempotency-Key: k0"}).body, "call 1");
}

// Damaged bytes are never replayed, and nothing runs again.
TEST(fault, C83_a_damaged_answer_is_not_given_out) {
  const scratch at;
  application behind;
  const std::string store = (at / "keys.db").string();
  const std::string file = at.file("c.toml", config_text(behind, store));
  {
    served gateway{{"--config", file}};
    EXPECT_EQ(charge(gateway).status, 201);
    EXPECT_EQ(gateway.stop(), 0);
  }
  other_program{store}.execute("update callonce_answer set body = x'63616c6c2032'");
  served gateway{{"--config", file}};
  const reply damaged = charge(gateway);
  EXPECT_EQ(damaged.status, 409);
  EXPECT_TRUE(has_code(damaged, "idempotency_response_unavailable"));
  EXPECT_EQ(behind.calls(), 1);
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(fault, a_record_whose_state_is_unreadable_is_left_alone) {
  const scratch at;
  application behind;
  const std::string store = (at / "keys.db").string();
  const std::string file = at.file("c.toml", config_text(behind, store));
  {
    served gateway{{"--config", file}};
    EXPECT_EQ(charge(gateway).status, 201);
    EXPECT_EQ(gateway.stop(), 0);
  }
  other_program{store}.execute("update callonce_record set state = 77");
  served gateway{{"--config", file}};
  const reply unreadable = charge(gateway);
  EXPECT_EQ(unreadable.status, 503);
  EXPECT_EQ(behind.calls(), 1);
  EXPECT_EQ(charge(gateway, {"X-Api-Key: tenant", "Idempotency-Key: two"}).status, 201);
  EXPECT_EQ(gateway.stop(), 0);
}

}  // namespace
}  // namespace callonce::cli::test
