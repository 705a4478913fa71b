// The published contracts, one set of rows for each profile.
#include <array>
#include <chrono>
#include <string>

#include <conform/materials.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

request any_body(const subject& one, std::string_view path, std::string body) {
  return trial::post(one, path, std::move(body)).add("X-Body", "any");
}

// An error in a form other than problem+json, by its status and the members that programs read.
bool error(trial& t, const reply& seen, int status, std::string_view type, std::string_view code) {
  const std::string inner = json_member(seen.body, "error");
  const std::string& members = inner.empty() ? seen.body : inner;
  const bool right = seen.complete && seen.status == status &&
                     json_member(members, "type") == type && json_member(members, "code") == code &&
                     !json_member(members, "message").empty() &&
                     seen.get("Content-Type") == "application/json" &&
                     lists(seen.headers, "Cache-Control", "no-store");
  return t.expect(right, "expected " + std::to_string(status) + " " + std::string{code} +
                             ", seen " + shown(seen) + " " + seen.body);
}

void replays_once(trial& t, std::string_view path) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one, path));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one, path)), original);
  t.ran(one, 1);
}

// ietf

void ietf_statuses(trial& t) {
  const subject one = t.fresh();
  const request gated = trial::post(one, "/ietf/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(one, 1);
  t.problem(t.send(gated), 409, "idempotency_key_in_progress");
  t.problem(t.send(trial::post(one, "/ietf/e")), 422, "idempotency_key_reused");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

void ietf_missing(trial& t) {
  node_options options = t.own_options();
  options.routes = "[[route]]\npath = \"/needed/e\"\nprofile = \"ietf\"\nkey = \"required\"\n";
  const auto own = t.own_node(options);
  t.problem(t.send(trial::post(t.fresh(), "/needed/e").drop("Idempotency-Key"), *own), 400,
            "idempotency_key_missing");
}

void ietf_spellings(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one, "/ietf/e"));
  t.first(original, 201);
  const std::string bare = one.key.substr(1, one.key.size() - 2);
  t.replay_of(t.send(trial::post(trial::with_key(one, bare), "/ietf/e")), original);
}

// stripe

void stripe_mismatch(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, "/stripe/e")), 201);
  error(t, t.send(trial::post(one, "/stripe/e", R"({"note":"B2"})")), 400, "idempotency_error",
        "idempotency_key_reused");
  t.ran(one, 1);
}

void stripe_in_progress(trial& t) {
  const subject one = t.fresh();
  const request gated = trial::post(one, "/stripe/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(one, 1);
  const reply told = t.send(gated);
  error(t, told, 409, "idempotency_error", "idempotency_key_in_progress");
  t.expect(has(told.headers, "Retry-After"), "when to come back");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

void stripe_invalid(trial& t) {
  const subject one = trial::with_key(t.fresh(), "\"unterminated");
  error(t, t.send(trial::post(one, "/stripe/e")), 400, "invalid_request_error",
        "idempotency_key_invalid");
}

void stripe_errors_stay(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":500},{}])");
  const reply original = t.send(trial::post(one, "/stripe/e"));
  t.first(original, 500);
  t.replay_of(t.send(trial::post(one, "/stripe/e")), original);
  t.ran(one, 1);
}

void stripe_own_errors_do_not_stay(trial& t) {
  node_options options = t.own_options();
  options.routes = "[[route]]\npath = \"/s/e\"\nprofile = \"stripe\"\nlease = \"2s\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  t.script(one, R"([{"do":"reset"},{}])");
  const request asked = trial::post(one, "/s/e");
  error(t, trial::send(asked, *own), 502, "api_error", "upstream_broken");
  t.first(trial::send_until_settled(asked, *own, 8s), 201);
  t.ran(one, 2);
}

// acp

void acp_missing(trial& t) {
  const subject one = t.fresh();
  error(t, t.send(trial::post(one, "/acp/e").drop("Idempotency-Key")), 400, "invalid_request",
        "idempotency_key_required");
  t.ran(one, 0);
}

void acp_meaning(trial& t) {
  const subject one = t.fresh();
  const reply original =
      t.send(any_body(one, "/acp/e", R"({"items":[{"id":"a","quantity":1}],"note":null})"));
  t.first(original, 201);
  t.replay_of(
      t.send(any_body(one, "/acp/e", R"({ "note":null, "items":[{"quantity":1.0,"id":"a"}] })")),
      original);
  for (const char* other : {R"({"items":[{"id":"a","quantity":1}]})",
                            R"({"items":[{"id":"a","quantity":2}],"note":null})"}) {
    error(t, t.send(any_body(one, "/acp/e", other)), 422, "invalid_request",
          "idempotency_conflict");
  }
  t.ran(one, 1);
}

void acp_in_flight(trial& t) {
  const subject one = t.fresh();
  const request gated = trial::post(one, "/acp/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(one, 1);
  const reply told = t.send(gated);
  error(t, told, 409, "invalid_request", "idempotency_in_flight");
  t.expect(has(told.headers, "Retry-After"), "when to come back");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

void acp_echo(trial& t) {
  const subject one = t.fresh();
  const auto echoed = [&](const reply& seen) {
    t.expect(values(seen.headers, "Idempotency-Key") == std::vector<std::string>{one.key},
             "the key as it was sent, once: " + shown(seen));
  };
  echoed(t.send(trial::post(one, "/acp/e")));
  echoed(t.send(trial::post(one, "/acp/e")));
  echoed(t.send(trial::post(one, "/acp/e", R"({"note":"B2"})")));
}

void per_path(trial& t, const std::string& profile) {
  const subject one = t.fresh();
  const reply first = t.send(trial::post(one, "/" + profile + "/e"));
  t.first(first, 201);
  const reply second = t.send(trial::post(one, "/" + profile + "/opt"));
  t.first(second, 201);
  t.replay_of(t.send(trial::post(one, "/" + profile + "/e")), first);
  t.replay_of(t.send(trial::post(one, "/" + profile + "/opt")), second);
  t.ran(one, 2);
}

void errors_run_again(trial& t, std::string_view path, std::initializer_list<int> statuses) {
  for (const int status : statuses) {
    const subject one = t.fresh();
    t.script(one, "[{\"status\":" + std::to_string(status) + "},{}]");
    t.first(t.send(trial::post(one, path)), status);
    t.first(t.send(trial::post(one, path)), 201);
    t.ran(one, 2);
  }
}

void acp_only_post(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":200},{"status":200}])");
  request put = trial::post(one, "/acp/p");
  put.method = "PUT";
  t.first(t.send(put), 200);
  t.first(t.send(put), 200);
  t.ran(one, 2);
}

// ucp

void ucp_bytes(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(any_body(one, "/ucp/e", R"({"a":1})"));
  t.first(original, 201);
  t.replay_of(t.send(any_body(one, "/ucp/e", R"({"a":1})").set("Content-Type", "text/plain")),
              original);
  t.problem(t.send(any_body(one, "/ucp/e", R"({"a": 1})")), 409, "idempotency_key_reused");
  t.ran(one, 1);
}

void ucp_methods(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":200},{"status":200}])");
  request put = trial::post(one, "/ucp/p");
  put.method = "PUT";
  const reply original = t.send(put);
  t.first(original, 200);
  t.replay_of(t.send(put), original);
  t.ran(one, 1);
}

void ucp_signed_fields(trial& t) {
  const subject one = t.fresh();
  const std::array<std::pair<const char*, const char*>, 3> lines{
      {{"Signature-Input", "sig1=(\"@method\" \"idempotency-key\");keyid=\"k\""},
       {"Signature", "sig1=:YWJj:"},
       {"Content-Digest", "sha-256=:YWJj:"}}};
  request asked = trial::post(one, "/ucp/e");
  for (const auto& [name, text] : lines) asked.add(name, text);
  t.first(t.send(asked), 201);
  const auto runs = t.runs(one, 1, 1);
  if (!t.expect(runs.size() == 1, "one run")) return;
  for (const auto& [name, text] : lines) {
    t.expect(value(runs.front().headers, name) == text, std::string{name} + " byte for byte");
  }
  t.expect(value(runs.front().headers, "Idempotency-Key") == one.key, "the key byte for byte");
}

void ucp_store_down(trial& t) {
  t.needs_file_store();
  const auto own = t.own_node(t.own_options());
  const subject one = t.fresh();
  own->forbid_writes();
  t.problem(t.send(trial::post(one, "/ucp/e"), *own), 503, "idempotency_store_unavailable");
  own->allow_writes();
  t.ran(one, 0);
}

// iceberg

void iceberg_keys(trial& t) {
  const subject one = trial::with_key(t.fresh(), "not-a-uuid");
  t.problem(t.send(trial::post(one, "/iceberg/e")), 400, "idempotency_key_invalid");
  const subject dated = trial::with_key(t.fresh(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  const reply original = t.send(trial::post(dated, "/iceberg/e"));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(dated, "/iceberg/e")), original);
}

void iceberg_statuses(trial& t) {
  const subject one = t.fresh();
  const request gated = trial::post(one, "/iceberg/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(one, 1);
  t.problem(t.send(gated), 409, "idempotency_key_in_progress");
  t.problem(t.send(trial::post(one, "/iceberg/e")), 422, "idempotency_key_reused");
  t.open_gate(one, 1);
  t.first(owner.get(), 201);
}

void without_key(trial& t, const std::string& path) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, path).drop("Idempotency-Key")), 201);
  t.first(t.send(trial::post(one, path).drop("Idempotency-Key")), 201);
  t.ran(one, 2);
}

// repeatable

request repeatable(const subject& one, const std::string& sent, std::string step = "{}") {
  return trial::post(one, "/repeatable/e", std::move(step))
      .drop("Idempotency-Key")
      .add("Repeatability-Request-ID", one.key.substr(1, one.key.size() - 2))
      .add("Repeatability-First-Sent", sent);
}

void repeatable_replay(trial& t) {
  const subject one = t.fresh();
  const std::string sent = fixdate(0s);
  const reply original = t.send(repeatable(one, sent));
  t.first(original, 201);
  const reply again = t.send(repeatable(one, sent));
  t.replay_of(again, original);
  t.expect(again.get("Repeatability-Result") == "accepted", "the contract's own word");
  t.ran(one, 1);
}

void repeatable_window(trial& t) {
  const subject one = t.fresh();
  const reply old = t.send(repeatable(one, fixdate(-8 * 24h)));
  t.problem(old, 412, "idempotency_key_expired");
  t.expect(old.get("Repeatability-Result") == "rejected", "the contract's own word");
  t.problem(t.send(repeatable(one, "now")), 400, "idempotency_key_invalid");
  t.ran(one, 0);
}

void repeatable_halves(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(repeatable(one, fixdate(0s)).drop("Repeatability-First-Sent")), 400,
            "idempotency_key_invalid");
  t.problem(t.send(repeatable(one, fixdate(0s)).drop("Repeatability-Request-ID")), 400,
            "idempotency_key_missing");
  t.ran(one, 0);
}

void repeatable_mismatch(trial& t) {
  const subject one = t.fresh();
  const std::string sent = fixdate(0s);
  t.first(t.send(repeatable(one, sent)), 201);
  t.problem(t.send(repeatable(one, sent, R"({"note":"B2"})")), 400, "idempotency_key_reused");
  t.ran(one, 1);
}

constexpr std::array rows{
    row{"PI-01", "ietf: a retry gets the first result.",
        [](trial& t) { replays_once(t, "/ietf/e"); }},
    row{"PI-02", "ietf: 409 while the first request runs, 422 for another payload.", ietf_statuses},
    row{"PI-03", "ietf: 400 where the API says that the key is required.", ietf_missing},
    row{"PI-04", "ietf: quoted and bare keys are the same.", ietf_spellings},
    row{"PS-01", "stripe: a retry gets the first result, and the key is optional.",
        [](trial& t) {
          replays_once(t, "/stripe/e");
          without_key(t, "/stripe/e");
        }},
    row{"PS-02", "stripe: another payload is a 400 of type idempotency_error.", stripe_mismatch},
    row{"PS-03", "stripe: a running key is a 409 in an error object.", stripe_in_progress},
    row{"PS-04", "stripe: a malformed key is an invalid_request_error.", stripe_invalid},
    row{"PS-05", "stripe: the application's own 500 is stored.", stripe_errors_stay},
    row{"PS-06", "stripe: the gateway's own 502 is not stored.", stripe_own_errors_do_not_stay},
    row{"PA-01", "acp: every POST needs a key.", acp_missing},
    row{"PA-02", "acp: the body alone counts, by its JSON meaning.", acp_meaning},
    row{"PA-03", "acp: a running key is idempotency_in_flight with Retry-After.", acp_in_flight},
    row{"PA-04", "acp: every answer to a POST carries its key.", acp_echo},
    row{"PA-05", "acp: the same key on another path is another key.",
        [](trial& t) { per_path(t, "acp"); }},
    row{"PA-06", "acp: a 5xx is never stored.",
        [](trial& t) {
          errors_run_again(t, "/acp/e", {500, 503});
        }},
    row{"PA-07", "acp: other methods need no key.", acp_only_post},
    row{"PU-01", "ucp: the body's bytes alone count, and another body is a 409.", ucp_bytes},
    row{"PU-02", "ucp: PUT is protected too.", ucp_methods},
    row{"PU-03", "ucp: signed fields and the key pass byte for byte.", ucp_signed_fields},
    row{"PU-04", "ucp: without its store nothing runs.", ucp_store_down, company::alone},
    row{"PU-05", "ucp: the same key on another operation is another key.",
        [](trial& t) { per_path(t, "ucp"); }},
    row{"PB-01", "iceberg: keys are UUIDs, the dated kind among them.", iceberg_keys},
    row{"PB-02", "iceberg: the same key on another resource is another key.",
        [](trial& t) { per_path(t, "iceberg"); }},
    row{"PB-03", "iceberg: 409 while the first request runs, 422 for another payload.",
        iceberg_statuses},
    row{"PB-04", "iceberg: 401, 403 and 5xx are never stored.",
        [](trial& t) {
          errors_run_again(t, "/iceberg/e", {401, 403, 500, 503});
        }},
    row{"PB-05", "iceberg: without a key a mutation runs each time.",
        [](trial& t) { without_key(t, "/iceberg/e"); }},
    row{"PR-01", "repeatable: a replay says that it was accepted.", repeatable_replay},
    row{"PR-02", "repeatable: a time of first sending outside the window is a 412.",
        repeatable_window},
    row{"PR-03", "repeatable: half of the pair is a 400.", repeatable_halves},
    row{"PR-04", "repeatable: another request under the same id is a 400.", repeatable_mismatch},
};

}  // namespace

std::span<const row> profile_rows() {
  return rows;
}

}  // namespace conform
