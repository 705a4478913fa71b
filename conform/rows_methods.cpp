// Which requests a key protects, and what happens to preconditions.
#include <array>
#include <string>

#include <conform/row.hpp>

namespace conform {
namespace {

request with_method(const subject& one, std::string method, std::string_view path) {
  request made = trial::post(one, path, "");
  made.method = std::move(method);
  return made;
}

void safe_methods(trial& t) {
  for (const char* method : {"GET", "HEAD"}) {
    const subject one = t.fresh();
    t.script(one, R"([{"status":200},{"status":200}])");
    for (int i = 0; i < 2; ++i) {
      connection client{t.n1().port()};
      client.send(with_method(one, method, "/g"));
      t.first(client.receive(method), 200);
    }
    t.ran(one, 2);
  }
}

void put_passes(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":200},{"status":200}])");
  t.first(t.send(with_method(one, "PUT", "/p")), 200);
  t.first(t.send(with_method(one, "PUT", "/p")), 200);
  t.ran(one, 2);
}

void listed_methods(trial& t) {
  const subject put = t.fresh();
  t.script(put, R"([{"status":200}])");
  const reply original = t.send(with_method(put, "PUT", "/all/p"));
  t.first(original, 200);
  t.replay_of(t.send(with_method(put, "PUT", "/all/p")), original);
  t.ran(put, 1);
  const subject gone = t.fresh();
  t.script(gone, R"([{"status":204}])");
  t.first(t.send(with_method(gone, "DELETE", "/all/d")), 204);
  t.replayed(t.send(with_method(gone, "DELETE", "/all/d")), 204);
  t.ran(gone, 1);
}

void patch(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":200}])");
  const reply original = t.send(with_method(one, "PATCH", "/q"));
  t.first(original, 200);
  t.replay_of(t.send(with_method(one, "PATCH", "/q")), original);
  t.ran(one, 1);
}

void failed_precondition(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":412}])");
  request asked = trial::post(one);
  asked.add("If-Match", "\"v1\"");
  const reply original = t.send(asked);
  t.first(original, 412);
  t.replay_of(t.send(asked), original);
  t.problem(t.send(asked.set("If-Match", "\"v2\"")), 422, "idempotency_key_reused");
  t.ran(one, 1);
}

void applied_precondition(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":200,"headers":[["ETag","\"v2\""]]},{"status":412}])");
  request asked = trial::post(one);
  asked.add("If-Match", "\"v1\"");
  const reply original = t.send(asked);
  t.first(original, 200);
  t.replay_of(t.send(asked), original);
  const auto runs = t.runs(one);
  t.expect(runs.size() == 1 && value(runs.front().headers, "If-Match") == "\"v1\"",
           "one run, which saw the precondition");
}

request preflight(const subject& one, std::string_view path) {
  request made;
  made.method = "OPTIONS";
  made.target = std::string{path} + "?case=" + one.name;
  made.add("Origin", "https://shop.example").add("Access-Control-Request-Method", "POST");
  made.add("Access-Control-Request-Headers", "idempotency-key, content-type");
  return made;
}

// Without cors_origins it is the application's affair; with them the gateway answers.
void preflights(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":204}])");
  t.first(t.send(preflight(one, "/e")), 204);
  t.ran(one, 1);

  node_options options = t.own_options();
  options.top = "cors_origins = [\"https://shop.example\"]\n";
  const auto own = t.own_node(options);
  const subject two = t.fresh();
  const reply allowed = t.send(preflight(two, "/e"), *own);
  t.first(allowed, 204);
  t.expect(allowed.get("Access-Control-Allow-Origin") == "https://shop.example" &&
               allowed.get("Access-Control-Allow-Methods") == "POST" &&
               lists(allowed.headers, "Access-Control-Allow-Headers", "idempotency-key"),
           "the page may send its key");
  t.ran(two, 0);
  const reply refused =
      t.send(trial::post(two).drop("Idempotency-Key").add("Origin", "https://shop.example"), *own);
  t.problem(refused, 400, "idempotency_key_missing");
  t.expect(refused.get("Access-Control-Allow-Origin") == "https://shop.example" &&
               lists(refused.headers, "Vary", "Origin"),
           "the page can read the gateway's own answer");
  const reply other =
      t.send(trial::post(two).drop("Idempotency-Key").add("Origin", "https://evil.example"), *own);
  t.expect(!has(other.headers, "Access-Control-Allow-Origin"), "another page cannot");
}

void unknown_path(trial& t) {
  const subject one = t.fresh();
  const reply seen = t.send(trial::post(one, "/nowhere"));
  t.expect(seen.status == 404, "the application's 404, seen " + shown(seen));
  t.ran(one, 0);
}

constexpr std::array rows{
    row{"M-01", "A key on GET or HEAD changes nothing.", safe_methods},
    row{"M-02", "PUT is not protected unless the route lists it.", put_passes},
    row{"M-03", "A listed method is replayed with the status it had.", listed_methods},
    row{"M-04", "PATCH is protected by default.", patch},
    row{"M-05", "A failed precondition is an answer like others: it is replayed.",
        failed_precondition},
    row{"M-06", "The same key with another precondition is another request.", failed_precondition},
    row{"M-07", "A retry is answered before its precondition is looked at again.",
        applied_precondition},
    row{"M-08", "A preflight is no request that needs a key; listed pages get theirs answered.",
        preflights},
    row{"M-09", "A path that nobody serves gets the application's own 404.", unknown_path},
};

}  // namespace

std::span<const row> method_rows() {
  return rows;
}

}  // namespace conform
