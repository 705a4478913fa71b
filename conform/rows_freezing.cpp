// Which answers end the matter, and which let the next request run again.
#include <array>
#include <initializer_list>
#include <string>
#include <thread>

#include <conform/row.hpp>

namespace conform {
namespace {

std::string answering(int status) {
  return "{\"status\":" + std::to_string(status) + R"(,"headers":[["Location","/v1/things/1"]]})";
}

void final_statuses(trial& t, std::initializer_list<int> statuses, std::string_view path = "/e") {
  for (const int status : statuses) {
    const subject one = t.fresh();
    const reply original = t.send(trial::post(one, path, answering(status)));
    t.first(original, status);
    t.replay_of(t.send(trial::post(one, path, answering(status))), original);
    t.ran(one, 1);
  }
}

void released_statuses(trial& t, std::initializer_list<int> statuses,
                       std::string_view path = "/e") {
  for (const int status : statuses) {
    const subject one = t.fresh();
    t.first(t.send(trial::post(one, path, answering(status))), status);
    t.first(t.send(trial::post(one, path, answering(status))), status);
    t.ran(one, 2);
  }
}

// Not recorded and not released: in progress until the lease of two seconds is over, then it runs.
void kept_until_lapse(trial& t, const subject& one, const request& sent) {
  t.problem(t.send(sent), 409, "idempotency_key_in_progress");
  t.ran(one, 1);
  t.first(trial::send_until_settled(sent, t.n1(), 8s), 201);
  t.ran(one, 2);
}

void server_errors(trial& t) {
  released_statuses(t, {500, 503});
  for (const int status : {502, 504}) {
    const subject one = t.fresh();
    t.script(one, "[" + answering(status) + ",{}]");
    const request sent = trial::post(one, "/short/e");
    t.first(t.send(sent), status);
    kept_until_lapse(t, one, sent);
  }
}

void error_then_success(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":500},{}])");
  t.first(t.send(trial::post(one)), 500);
  const reply success = t.send(trial::post(one));
  t.first(success, 201);
  t.replay_of(t.send(trial::post(one)), success);
  t.ran(one, 2);
}

// The application's word on its answer counts, and stays between it and the gateway.
reply with_outcome(trial& t, const subject& one, int status, const std::string& outcome) {
  const std::string step = "{\"status\":" + std::to_string(status) +
                           R"(,"headers":[["Idempotency-Outcome",")" + outcome + R"("]]})";
  reply seen = t.send(trial::post(one, "/e", step));
  t.expect(!has(seen.headers, "Idempotency-Outcome"), "the client does not see the outcome");
  return seen;
}

void retryable_conflict(trial& t) {
  const subject one = t.fresh();
  t.first(with_outcome(t, one, 409, "retryable"), 409);
  t.first(with_outcome(t, one, 409, "retryable"), 409);
  t.ran(one, 2);
}

void final_unavailable(trial& t) {
  const subject one = t.fresh();
  const reply original = with_outcome(t, one, 503, "final");
  t.first(original, 503);
  t.replay_of(with_outcome(t, one, 503, "final"), original);
  t.ran(one, 1);
}

// The retry of an answer whose body was not kept.
void body_not_kept(trial& t, const request& sent, const reply& original) {
  const reply again = t.send(sent);
  t.problem(again, 409, "idempotency_response_unavailable");
  t.expect(json_member(again.body, "original_status") == std::to_string(original.status),
           "the original status, seen " + again.body);
  t.expect(json_member(again.body, "location") == original.get("Location"),
           "the original Location, seen " + again.body);
}

void around_the_cap(trial& t) {
  constexpr std::size_t cap = 1024;
  for (const std::size_t size : {cap - 1, cap, cap + 1}) {
    const subject one = t.fresh();
    const request sent = trial::post(
        one, "/small/e",
        "{\"size\":" + std::to_string(size) + R"(,"headers":[["Location","/v1/things/1"]]})");
    const reply original = t.send(sent);
    t.first(original, 201);
    t.expect(original.body == pattern(size), "the first answer is whole");
    if (size <= cap) {
      t.replay_of(t.send(sent), original);
    } else {
      body_not_kept(t, sent, original);
    }
    t.ran(one, 1);
  }
}

void long_stream(trial& t) {
  constexpr std::size_t size = 10 << 20;
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e",
                                   "{\"framing\":\"chunked\",\"size\":" + std::to_string(size) +
                                       R"(,"headers":[["Location","/v1/things/1"]]})");
  const reply original = t.send(sent);
  t.first(original, 201);
  t.expect(original.body == pattern(size), "ten mebibytes, every byte");
  body_not_kept(t, sent, original);
  t.ran(one, 1);
}

void events(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", R"({"do":"sse"})");
  connection client{t.n1().port()};
  client.raw().deadline(steady::now() + 10s);
  client.send(sent);
  reply original;
  std::string early;
  read_reply_head(client.raw(), original);
  // The application sends its second event only when the first has been seen here.
  while (early.find("data: 1") == std::string::npos && client.raw().read_some(early)) {
  }
  t.expect(original.status == 200 && early.find("data: 1") != std::string::npos &&
               early.find("data: 2") == std::string::npos,
           "the first event comes while the stream is open");
  t.open_gate(one, 1);
  while (early.find("data: 3") == std::string::npos && client.raw().read_some(early)) {
  }
  t.expect(early.find("data: 3") != std::string::npos, "the other events follow");
  body_not_kept(t, sent, original);
  t.ran(one, 1);
}

void no_upgrade(trial& t) {
  const subject one = t.fresh();
  const request sent = trial::post(one, "/e", R"({"do":"upgrade"})")
                           .add("Connection", "Upgrade")
                           .add("Upgrade", "websocket");
  const reply original = t.send(sent);
  t.first(original, 201);
  for (const run_row& run : t.runs(one)) {
    t.expect(!has(run.headers, "Upgrade"), "the application sees no Upgrade");
  }
  t.replay_of(t.send(sent), original);
  t.ran(one, 1);
}

// What it had begun to say makes no difference: its run may go on.
void cut_off_answer(trial& t) {
  for (const char* status : {"201", "500"}) {
    const subject one = t.fresh();
    t.script(one, std::string{R"([{"do":"truncate","size":1000,"status":)"} + status + "},{}]");
    const request sent = trial::post(one, "/short/e");
    t.problem(t.send(sent), 502, "upstream_broken");
    kept_until_lapse(t, one, sent);
  }
}

void store_fails_at_completion(trial& t) {
  t.needs_file_store();
  const subject one = t.fresh();
  node_options options = t.own_options();
  options.keep_log = false;  // its log is a file too
  options.store_timeout = "1s";
  const auto own = t.own_node(options);
  const request sent = trial::post(one, "/e", R"({"gate":true})");
  auto owner = trial::start(sent, *own);
  if (!t.await_runs(one, 1)) return;
  own->forbid_writes();
  t.open_gate(one, 1);
  const reply original = owner.get();
  t.first(original, 201);
  t.expect(original.get("Idempotency-Recorded") == "?0", "the answer says that it is not recorded");
  own->allow_writes();
  const reply again = trial::send_until_settled(sent, *own, 10s);
  t.replayed(again, 201);
  t.expect(again.body == original.body, "the answer is recorded as soon as the store writes again");
  t.ran(one, 1);
}

constexpr std::array rows{
    row{"S-01", "Successes are final.",
        [](trial& t) {
          final_statuses(t, {200, 201, 202, 204});
        }},
    row{"S-02", "Errors that the request itself caused are final.",
        [](trial& t) {
          final_statuses(t, {400, 402, 404, 409, 410, 412, 415, 422});
        }},
    row{"S-03", "Answers about credentials are not kept.",
        [](trial& t) {
          released_statuses(t, {401, 403, 407});
        }},
    row{"S-04", "Answers about negotiation or the connection are not kept.",
        [](trial& t) {
          released_statuses(t, {406, 421, 428, 431});
        }},
    row{"S-05", "Answers that ask to come back later are not kept.",
        [](trial& t) {
          released_statuses(t, {408, 423, 425, 429});
        }},
    row{"S-06",
        "After a 500 or 503 the retry runs at once, after a 502 or 504 when the lease is over.",
        server_errors},
    row{"S-07", "The success after an error is what stays.", error_then_success},
    skipped_row("S-08", "A handler that throws is answered with 500 and may run again.",
                "a handler in process: covered by the library's own tests"),
    skipped_row("S-09", "An exception after the effect undoes the effect.",
                "about the application's own transaction: stores/postgres, co_commit.S09"),
    row{"S-10", "A route may make a status final or let it go, against the default.",
        [](trial& t) {
          final_statuses(t, {429}, "/outcome/e");
          released_statuses(t, {422}, "/outcome/e");
        }},
    row{"S-11", "The application may call a 409 retryable; it runs again.", retryable_conflict},
    row{"S-12", "The application may call a 503 final; it is replayed.", final_unavailable},
    row{"S-13", "A body up to the cap is kept; beyond it the retry learns what is known.",
        around_the_cap},
    row{"S-14", "A long stream reaches the client whole, and its retry learns what is known.",
        long_stream},
    row{"S-15", "Events pass as they come, and the retry learns that they are gone.", events},
    row{"S-16", "A protected request does not upgrade the connection.", no_upgrade},
    row{"S-17", "A cut-off answer is a 502 and the key stays taken until the lease is over.",
        cut_off_answer},
    row{"S-18 C77",
        "When the store fails after the effect, the true answer is sent and recorded later.",
        store_fails_at_completion},
};

}  // namespace

std::span<const row> freezing_rows() {
  return rows;
}

}  // namespace conform
