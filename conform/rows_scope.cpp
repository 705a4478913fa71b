// Whose key it is, and what a caller may see.
#include <array>
#include <chrono>
#include <fstream>
#include <string>

#include <conform/row.hpp>
#include <conform/token.hpp>

namespace conform {
namespace {

void two_tenants(trial& t) {
  const subject one = t.fresh();
  const reply mine = t.send(trial::post(one));
  t.first(mine, 201);
  subject other = one;
  other.tenant += "-b";
  const reply theirs = t.send(trial::post(other));
  t.first(theirs, 201);
  t.expect(mine.body != theirs.body, "each has an answer of its own");
  t.replay_of(t.send(trial::post(other)), theirs);
  t.ran(one, 2);
}

void no_credentials(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(trial::post(one).drop("X-Tenant")), 400, "idempotency_scope_missing");
  t.ran(one, 0);
  t.first(t.send(trial::post(one)), 201);

  node_options options = t.own_options();
  options.scope = "from = \"header:Authorization\"\n";
  const auto own = t.own_node(options);
  const subject two = t.fresh();
  const reply refused = t.send(trial::post(two), *own);
  t.problem(refused, 401, "idempotency_scope_missing");
  t.expect(has(refused.headers, "WWW-Authenticate"), "a 401 says how to authenticate");
  t.first(t.send(trial::post(two).add("Authorization", "Basic eDp5"), *own), 201);
  const request token = trial::post(two).add("Authorization", "Bearer eyJh.eyJz.c2ln");
  t.problem(t.send(token, *own), 503, "idempotency_scope_unusable");
  t.ran(two, 1);
}

void revoked(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one, "/checked/e"));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one, "/checked/e")), original);
  const reply denied = t.send(trial::post(one, "/checked/e").add("X-Revoked", "1"));
  t.expect(denied.status == 403 && denied.body == R"({"denied":true})" && !denied.replayed(),
           "the application's refusal instead of the replay, seen " + shown(denied));
  const subject two = t.fresh();
  t.first(t.send(trial::post(two, "/checked-small/e")), 201);
  t.problem(t.send(trial::post(two, "/checked-small/e")), 409, "idempotency_response_unavailable");
  const reply nothing = t.send(trial::post(two, "/checked-small/e").add("X-Revoked", "1"));
  t.expect(nothing.status == 403 && json_member(nothing.body, "original_status").empty(),
           "nor is it told what is known of the answer, seen " + shown(nothing));
  t.ran(one, 1);
  t.ran(two, 1);
}

void refreshed_token(trial& t) {
  const token_maker maker;
  node_options options = t.own_options();
  const auto key = options.store.parent_path() / (options.store.stem().string() + ".pem");
  std::ofstream{key} << maker.public_pem();
  options.scope = "from = \"jwt:sub\"\njwt_key = \"" + key.string() + "\"\n";
  const auto own = t.own_node(options);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto bearer = [&](const char* sub, std::int64_t expires) {
    return "Bearer " + maker.token(R"({"sub":")" + std::string{sub} + R"(","exp":)" +
                                   std::to_string(expires) + "}");
  };
  const subject one = t.fresh();
  const auto as = [&](const std::string& credential) {
    return t.send(trial::post(one).add("Authorization", credential), *own);
  };
  const reply original = as(bearer("u1", now + 600));
  t.first(original, 201);
  t.replay_of(as(bearer("u1", now + 1200)), original);
  t.first(as(bearer("u2", now + 600)), 201);
  t.problem(as(bearer("u1", now - 600)), 401, "idempotency_scope_missing");
  t.problem(as(bearer("u1", now + 600) + "x"), 401, "idempotency_scope_missing");
  t.problem(as("Bearer opaque"), 401, "idempotency_scope_missing");
  t.ran(one, 2);
}

void throttled(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":429,"headers":[["Retry-After","1"]]},{}])");
  t.first(t.send(trial::post(one)), 429);
  t.first(t.send(trial::post(one)), 201);
  t.ran(one, 2);
}

void forged_fields(trial& t) {
  constexpr std::array<const char*, 4> names{"Idempotency-Claim", "Idempotency-Attempt",
                                             "Idempotency-Recover", "Idempotency-Outcome"};
  const subject one = t.fresh();
  request asked = trial::post(one);
  for (const char* name : names) asked.add(name, "forged");
  t.first(t.send(asked), 201);
  for (const run_row& run : t.runs(one)) {
    for (const char* name : names) {
      for (const std::string& seen : values(run.headers, name)) {
        t.expect(seen != "forged", std::string{name} + " of a client reaches the application");
      }
    }
  }
  t.ran(one, 1);
}

std::string names_of(const reply& seen) {
  std::string all;
  for (const auto& [name, text] : seen.headers) all += name + ",";
  return all;
}

void indistinguishable(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one)), 201);
  subject stranger = one;
  stranger.tenant += "-b";
  const reply taken = t.send(trial::post(stranger));
  const reply unknown = t.send(trial::post(trial::with_key(stranger, "\"never-used\"")));
  t.first(taken, 201);
  t.expect(names_of(taken) == names_of(unknown), "both answers have the same fields");
}

void no_scope(trial& t) {
  node_options options = t.own_options();
  options.scope = "";
  std::string refusal;
  try {
    t.own_node(options);
  } catch (const std::runtime_error& said) {
    refusal = said.what();
  }
  t.expect(refusal.find("scope.from: is missing") != std::string::npos,
           "a gateway without a scope rule does not start: " + refusal);
}

void early_data(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(trial::post(one).add("Early-Data", "1")), 425, "early_data");
  t.first(t.send(trial::post(one)), 201);
  const subject open = t.fresh();
  t.first(t.send(trial::post(open, "/plain").add("Early-Data", "1")), 201);
  t.ran(one, 1);
}

void several_sources(trial& t) {
  node_options options = t.own_options();
  options.scope = "from = [\"header:X-Tenant\", \"cookie:seat\"]\n";
  options.routes = "[[route]]\npath = \"/own/e\"\nscope = \"header:X-Account\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  const auto seat = [&](const char* cookie) {
    return t.send(trial::post(one).add("Cookie", cookie), *own);
  };
  const reply original = seat("seat=1");
  t.first(original, 201);
  t.replay_of(seat("a=b; seat=1"), original);
  t.first(seat("seat=2"), 201);
  t.problem(t.send(trial::post(one), *own), 401, "idempotency_scope_missing");
  t.ran(one, 2);
  const subject two = t.fresh();
  const request account = trial::post(two, "/own/e").add("X-Account", "a1");
  const reply first = t.send(account, *own);
  t.first(first, 201);
  t.replay_of(t.send(request{account}.set("X-Tenant", "another"), *own), first);
  t.ran(two, 1);
}

constexpr std::array rows{
    row{"A-01", "Two tenants may use one key and never see each other's answers.", two_tenants},
    row{"A-02", "Without a credential nothing runs and nothing is recorded.", no_credentials},
    row{"A-03", "A caller whose right was revoked reads no replay.", revoked},
    row{"A-04", "A refreshed token is the same caller; an unproved one is nobody.",
        refreshed_token},
    row{"A-05", "A throttled request may come again under its key.", throttled},
    row{"A-06", "The gateway's own fields never come from a client.", forged_fields},
    skipped_row("A-07", "A forged claim changes nothing in the store.",
                "about the application's side of the database: stores/postgres, entry_points.A07"),
    row{"A-08", "A key that another tenant used looks like a key that nobody used.",
        indistinguishable},
    skipped_row("A-09", "Stored bodies can be encrypted.", "encryption at rest is not built"),
    row{"A-10", "A gateway without a scope rule does not start.", no_scope},
    row{"A-11", "Early data does not run on a protected route.", early_data},
    skipped_row("A-12",
                "An application's database role cannot change records past the entry points.",
                "about the application's side of the database: stores/postgres, entry_points.A12"),
    row{"C106", "The application is asked again before anybody reads a stored answer.", revoked},
    row{"A-13", "A scope of several values needs all of them; a route may have its own.",
        several_sources},
};

}  // namespace

std::span<const row> scope_rows() {
  return rows;
}

}  // namespace conform
