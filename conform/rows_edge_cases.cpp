// Faults that were seen elsewhere: at the edges, with proxies, clients, tenants and operators.
#include <array>
#include <initializer_list>
#include <string>
#include <thread>

#include <conform/lost_owner.hpp>
#include <conform/row.hpp>
#include <conform/stalled_door.hpp>

namespace conform {
namespace {

constexpr const char* in_progress = "idempotency_key_in_progress";
constexpr const char* reused = "idempotency_key_reused";

void many_fresh_keys(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject steady_one = t.fresh();
  const reply original = t.send(trial::post(steady_one), *own);
  t.first(original, 201);
  in_parallel(4, [&](int) {
    connection client{own->port()};
    for (int i = 0; i < 500; ++i) {
      client.exchange(trial::post(t.fresh(), "/e", R"({"size":32768})"));
      if (i % 100 == 0) t.replay_of(t.send(trial::post(steady_one), *own), original);
    }
  });
  // 64 MiB of answers went by.
  t.expect(own->peak_kib() < 160 << 10,
           "they are not kept in memory: " + std::to_string(own->peak_kib()) + " KiB");
}

void repeated_by_a_proxy(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"gate":true})");
  auto first = t.start(asked, t.n1());
  t.await_runs(one, 1);
  // What a hop in front does when its patience ends: the same request at the other gateway.
  t.problem(t.send(asked, t.n2()), 409, in_progress);
  t.open_gate(one, 1);
  const reply original = first.get();
  t.first(original, 201);
  t.replay_of(t.send(asked, t.n2()), original);
  t.ran(one, 1);
}

void stale_connections(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"do":"reset"},{}])");
  const request asked = trial::post(one, "/short/e");
  t.problem(t.send(asked), 502, "upstream_broken");
  t.ran(one, 1);
  node_options options = t.own_options();
  {
    stalled_door nobody;
    options.upstream = nobody.port();
  }
  const auto own = t.own_node(options);
  const subject two = t.fresh();
  t.problem(t.send(trial::post(two), *own), 502, "upstream_unreachable");
  t.problem(t.send(trial::post(two), *own), 502, "upstream_unreachable");
}

void uncertain_is_not_nothing(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/late/e", R"({"gate":true})");
  t.problem(t.send(asked), 504, "upstream_timeout");
  t.problem(t.send(asked), 409, in_progress);
  t.open_gate(one, 1);
  t.replayed(t.send_until_settled(asked, t.n1(), 5s), 201);
  t.ran(one, 1);
}

void key_passed_on(trial& t) {
  for (const char* spelled : {"\"k-9\"", "k-9", "\"k-9\";p=1"}) {
    const subject one = trial::with_key(t.fresh(), spelled);
    t.first(t.send(trial::post(one)), 201);
    const auto runs = t.runs(one, 1, 1);
    t.expect(runs.size() == 1 && value(runs.front().headers, "Idempotency-Key") == spelled,
             std::string{spelled} + " reaches the application as it was sent");
  }
}

void errors_of_the_application(trial& t) {
  const std::array<std::pair<int, const char*>, 4> answers{
      {{500, R"({"status":500,"body":"{\"oops\":1}"})"},
       {503, R"({"status":503,"headers":[["Retry-After","7"]]})"},
       {418, R"({"status":418,"body":"teapot"})"},
       {422, R"({"status":422,"headers":[["Content-Encoding","gzip"]],"body":"no gzip"})"}}};
  for (const auto& [status, step] : answers) {
    const subject one = t.fresh();
    t.script(one, std::string{"["} + step + "]");
    const reply seen = t.send(trial::post(one));
    t.first(seen, status);
    t.expect(json_member(seen.body, "code").empty(), "the application's own error, not ours");
    if (status == 503) t.expect(seen.get("Retry-After") == "7", "and its own hint");
  }
}

void clients_that_leave(trial& t) {
  const subject early = t.fresh();
  {
    connection client{t.n1().port()};
    const std::string whole = trial::post(early, "/e", R"({"note":"never whole"})").bytes();
    client.raw().write(whole.substr(0, whole.size() - 5));
    client.raw().close();
  }
  const subject late = t.fresh();
  {
    connection client{t.n1().port()};
    client.send(trial::post(late, "/e", R"({"gate":true})"));
    t.await_runs(late, 1);
    client.raw().reset_on_close();
  }
  t.open_gate(late, 1);
  t.replayed(t.send_until_settled(trial::post(late, "/e", R"({"gate":true})"), t.n1(), 5s), 201);
  t.ran(late, 1);
  t.ran(early, 0);
}

void events_pass_live(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"do":"sse"})");
  connection client{t.n1().port()};
  client.send(asked);
  reply head;
  client.raw().deadline(steady::now() + 10s);
  t.expect(read_reply_head(client.raw(), head) && head.status == 200, "the stream begins");
  std::string seen;
  while (seen.find("data: 1") == std::string::npos && client.raw().read_some(seen)) {
  }
  t.expect(seen.find("data: 1") != std::string::npos, "the first event comes while it is open");
  t.problem(t.send(asked), 409, "idempotency_response_unavailable");
  t.open_gate(one, 1);
  while (seen.find("data: 3") == std::string::npos && client.raw().read_some(seen)) {
  }
  t.expect(seen.find("data: 3") != std::string::npos, "and the others follow");
  t.ran(one, 1);
}

// A gateway before a gateway: each has a store of its own.
void two_layers(trial& t) {
  const auto inner = t.own_node(t.own_options());
  node_options options = t.own_options();
  options.upstream = inner->port();
  const auto outer = t.own_node(options);
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"gate":true})");
  auto owner = trial::start(asked, *inner);
  t.await_runs(one, 1);
  const reply told = trial::send(asked, *outer);
  t.expect(told.status == 409 && json_member(told.body, "code") == in_progress,
           "the inner layer's word passes: " + shown(told));
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
  const reply later = trial::send(asked, *outer);
  t.expect(later.status == 201, "the outer layer has not frozen it: " + shown(later));
  t.ran(one, 1);
}

void two_keys(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(trial::post(one).add("Idempotency-Key", "\"B\"")), 400,
            "idempotency_key_invalid");
  t.problem(t.send(trial::post(trial::with_key(one, "\"B\"")).add("Idempotency-Key", one.key)), 400,
            "idempotency_key_invalid");
  t.first(t.send(trial::post(one)), 201);
  t.ran(one, 1);
}

void key_of_the_last_call(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one)), 201);
  t.problem(t.send(trial::post(one, "/e", R"({"note":"2"})")), 422, reused);
  t.problem(t.send(trial::post(one, "/opt", R"({"note":"3"})")), 422, reused);
  request get = trial::post(one, "/g", "");
  get.method = "GET";
  t.script(one, R"([{"status":200}])");
  t.first(t.send(get), 200);
}

void one_key_for_all_attempts(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"do":"reset"},{}])");
  const request asked = trial::post(one, "/short/e");
  t.problem(t.send(asked), 502, "upstream_broken");
  t.first(t.send_until_settled(asked, t.n1(), lapse_patience), 201);
  const auto runs = t.runs(one, 2);
  t.expect(
      runs.size() == 2 && runs[0].attempt == "1" && runs[1].attempt == "2" &&
          value(runs[0].headers, "Idempotency-Key") == value(runs[1].headers, "Idempotency-Key"),
      "two attempts, one key");
}

// What a simple client may go by: retry where a status or Retry-After says so, and no longer.
void plain_signals(trial& t) {
  const subject one = t.fresh();
  const auto told = [&](const reply& seen, bool again) {
    t.expect(has(seen.headers, "Retry-After") == again &&
                 json_member(seen.body, "retryable") == (again ? "true" : "false"),
             "the same word in field and body: " + shown(seen));
  };
  told(t.send(trial::post(one).drop("Idempotency-Key")), false);
  told(t.send(trial::post(trial::with_key(one, "\"x"))), false);
  const request gated = trial::post(one, "/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(one, 1);
  told(t.send(gated), true);
  told(t.send(trial::post(one)), false);
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

void changed_between_attempts(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":500},{}])");
  const request hundred = trial::post(one, "/e", R"({"note":"100"})");
  t.first(t.send(hundred), 500);
  t.problem(t.send(trial::post(one, "/e", R"({"note":"200"})")), 422, reused);
  t.first(t.send(hundred), 201);
  t.ran(one, 2);
}

void tenants_apart(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one)), 201);
  subject other = one;
  for (const std::string& tenant :
       {one.tenant + "-b", one.tenant.substr(1), std::string(4000, 't'), one.tenant + ":x"}) {
    other.tenant = tenant;
    t.first(t.send(trial::post(other, "/e", R"({"note":"other"})")), 201);
  }
  other.tenant = "";
  t.problem(t.send(trial::post(other)), 400, "idempotency_scope_missing");
}

void cookies_and_headers(trial& t) {
  node_options options = t.own_options();
  options.scope = "from = \"cookie:sid\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  const auto session = [&](const char* cookie) {
    return trial::send(trial::post(one).drop("X-Tenant").add("Cookie", cookie), *own);
  };
  const reply first = session("sid=1");
  t.first(first, 201);
  t.first(session("sid=2"), 201);
  t.replay_of(session("csrf=9; sid=1"), first);
  t.problem(trial::send(trial::post(one), *own), 401, "idempotency_scope_missing");
  t.ran(one, 2);
}

void addresses_are_no_identity(trial& t) {
  node_options options = t.own_options();
  options.scope = "from = \"trusted:X-User\"\n";
  options.top = "proxies = [\"192.0.2.0/24\"]\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  const request forged = trial::post(one).add("X-User", "u1").add("X-Forwarded-For", "192.0.2.7");
  t.problem(trial::send(forged, *own), 401, "idempotency_scope_missing");
  t.problem(trial::send(request{forged}.add("Forwarded", "for=192.0.2.7"), *own), 401,
            "idempotency_scope_missing");
  t.ran(one, 0);
}

void credentials_not_replayed(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"headers":[["Set-Cookie","a=1"],["Set-Cookie","b=2"],
                    ["WWW-Authenticate","Bearer"],["Authentication-Info","x"],
                    ["Location","/v1/things/1"]]}])");
  const reply original = t.send(trial::post(one));
  t.expect(values(original.headers, "Set-Cookie").size() == 2, "the first answer sets both");
  const reply again = t.send(trial::post(one));
  t.replay_of(again, original);
  for (const char* name : {"Set-Cookie", "WWW-Authenticate", "Authentication-Info"}) {
    t.expect(!has(again.headers, name), std::string{name} + " is not replayed");
  }
}

constexpr std::array rows{
    skipped_row("C87", "A store's own limit below the product's stops the start.",
                "about MySQL's packet size; SQLite has no such limit"),
    row{"C88", "Memory does not grow with what clients send.", many_fresh_keys, company::alone},
    row{"C89", "A hop in front that repeats a request causes no second run.", repeated_by_a_proxy},
    row{"C90", "A request is never sent a second time behind the client's back.",
        stale_connections},
    row{"C91", "A silent application is not an application that did nothing.",
        uncertain_is_not_nothing},
    row{"C92", "The key reaches the application as the client spelled it.", key_passed_on},
    row{"C93", "The application's errors are its own.", errors_of_the_application},
    row{"C95", "A client that leaves takes nothing with it, and leaves nothing half done.",
        clients_that_leave},
    row{"C96", "Events are not held back.", events_pass_live},
    row{"C97", "A layer in front does not freeze the word of the layer behind.", two_layers},
    row{"C98", "Two keys on one request are refused.", two_keys},
    row{"C99", "A key that is used for the next call is refused.", key_of_the_last_call},
    row{"C100", "All attempts carry one key.", one_key_for_all_attempts},
    row{"C101", "Every refusal says plainly whether to come again.", plain_signals},
    row{"C102", "A payload may not change between attempts, failed ones included.",
        changed_between_attempts},
    row{"C104", "Scopes are compared whole.", tenants_apart},
    row{"C105", "A cookie is an identity only where the rule says so.", cookies_and_headers},
    row{"C108", "An address that a client claims is no identity.", addresses_are_no_identity},
    row{"C109", "Credentials of the first answer are not replayed.", credentials_not_replayed},
};

}  // namespace

std::span<const row> edge_case_rows() {
  return rows;
}

}  // namespace conform
