// What makes two requests the same.
#include <array>
#include <initializer_list>
#include <string>

#include <conform/materials.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

constexpr const char* reused = "idempotency_key_reused";

// A body that is no step for the effect application.
request with_body(const subject& one, std::string_view path, std::string body) {
  return trial::post(one, path, std::move(body)).add("X-Body", "any");
}

// The second request is a retry of the first.
void same(trial& t, const subject& one, const request& first, const request& second) {
  const reply original = t.send(first);
  t.first(original, 201);
  t.replay_of(t.send(second), original);
  t.ran(one, 1);
}

// The second request is another one under the same key.
void other(trial& t, const subject& one, const request& first, const request& second) {
  t.first(t.send(first), 201);
  t.problem(t.send(second), 422, reused);
  t.ran(one, 1);
}

void other_body(trial& t) {
  const subject one = t.fresh();
  const request first = trial::post(one);
  const reply original = t.send(first);
  t.first(original, 201);
  t.problem(t.send(trial::post(one, "/e", R"({"note":"B2"})")), 422, reused);
  t.replay_of(t.send(first), original);
  t.ran(one, 1);
}

void while_running(trial& t) {
  const subject one = t.fresh();
  const request first = trial::post(one, "/e", R"({"gate":true})");
  auto running = t.start(first);
  t.await_runs(one, 1);
  t.problem(t.send(trial::post(one, "/e", R"({"note":"B2"})")), 422, reused);
  t.open_gate(one, 1);
  t.first(running.get(), 201);
  t.ran(one, 1);
}

void after_release(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":503},{}])");
  t.first(t.send(trial::post(one)), 503);
  t.problem(t.send(trial::post(one, "/e", R"({"note":"B2"})")), 422, reused);
  t.ran(one, 1);
}

void other_target(trial& t) {
  const subject path = t.fresh();
  other(t, path, trial::post(path), trial::post(path, "/opt"));
  const subject query = t.fresh();
  request asked = trial::post(query);
  request longer = asked;
  longer.target += "&x=1";
  other(t, query, asked, longer);
  const subject method = t.fresh();
  request patched = trial::post(method, "/all/p");
  t.script(method, "[{}]");
  request put = patched;
  put.method = "PUT";
  t.first(t.send(put), 201);
  patched.method = "DELETE";
  t.problem(t.send(patched), 422, reused);
}

void json_spelling(trial& t) {
  const std::string first = R"({"amount":1.0,"tags":["a","b"],"note":null})";
  const std::string second = "{ \"note\" : null, \"tags\": [\"a\", \"\\u0062\"], \"amount\": 1 }";
  const subject raw = t.fresh();
  other(t, raw, with_body(raw, "/e", first), with_body(raw, "/e", second));
  const subject meaning = t.fresh();
  same(t, meaning, with_body(meaning, "/json/e", first), with_body(meaning, "/json/e", second));
  for (const char* differs :
       {R"({"amount":1.0,"tags":["b","a"],"note":null})", R"({"amount":1.0,"tags":["a","b"]})",
        R"({"amount":1.01,"tags":["a","b"],"note":null})"}) {
    const subject one = t.fresh();
    other(t, one, with_body(one, "/json/e", first), with_body(one, "/json/e", differs));
  }
}

void no_one_meaning(trial& t) {
  const subject doubled = t.fresh();
  other(t, doubled, with_body(doubled, "/json/e", R"({"a":1,"a":2})"),
        with_body(doubled, "/json/e", R"({ "a":1,"a":2})"));
  const subject broken = t.fresh();
  same(t, broken, with_body(broken, "/json/e", "{\"a\":"), with_body(broken, "/json/e", "{\"a\":"));
}

void compressed(trial& t) {
  const std::string plain = R"({"amount":100,"note":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})";
  const auto coded = [&](const subject& one, std::string_view path, int level) {
    return with_body(one, path, gzip(plain, level)).add("Content-Encoding", "gzip");
  };
  const subject raw = t.fresh();
  other(t, raw, with_body(raw, "/e", plain), coded(raw, "/e", 6));
  const subject opened = t.fresh();
  same(t, opened, with_body(opened, "/gzip/e", plain), coded(opened, "/gzip/e", 6));
  const subject again = t.fresh();
  same(t, again, coded(again, "/gzip/e", 1), coded(again, "/gzip/e", 9));
  const subject lies = t.fresh();
  const auto broken = with_body(lies, "/gzip/e", "no gzip").add("Content-Encoding", "gzip");
  same(t, lies, broken, broken);
}

void media_type(trial& t) {
  const subject one = t.fresh();
  same(t, one, trial::post(one),
       trial::post(one).set("Content-Type", "application/json; charset=utf-8"));
}

void framing(trial& t) {
  const subject one = t.fresh();
  request chunked = trial::post(one);
  chunked.chunked = true;
  same(t, one, chunked, trial::post(one));
}

void volatile_headers(trial& t) {
  const subject one = t.fresh();
  const request first =
      trial::post(one).add("User-Agent", "a/1").add("Authorization", "Bearer one");
  const request second =
      trial::post(one)
          .add("User-Agent", "a/2")
          .add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
          .add("Authorization", "Bearer two");
  same(t, one, first, second);
}

void chosen_fields(trial& t) {
  const auto call = [](int id, const char* name) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"params":{"name":")" + name +
           R"(","at":)" + std::to_string(id) + "}}";
  };
  const subject one = t.fresh();
  same(t, one, with_body(one, "/fields/e", call(1, "pay")),
       with_body(one, "/fields/e", call(2, "pay")));
  const subject two = t.fresh();
  other(t, two, with_body(two, "/fields/e", call(1, "pay")),
        with_body(two, "/fields/e", call(1, "refund")));
}

void changed_rule(trial& t) {
  const subject one = t.fresh();
  node_options options = t.own_options();
  const auto before = t.own_node(options);
  const reply original = t.send(trial::post(one), *before);
  t.first(original, 201);
  options.defaults = "fingerprint = [\"note\"]\n";
  const auto after = t.own_node(options);
  t.replay_of(t.send(trial::post(one), *after), original);
  t.problem(t.send(trial::post(one, "/e", R"({"do":"ok","note":"x"})"), *after), 422, reused);
  // And back: the record names the fields that it was made of.
  const subject two = t.fresh();
  const reply second = t.send(trial::post(two, "/e", R"({"note":"a","status":201})"), *after);
  t.first(second, 201);
  t.replay_of(t.send(trial::post(two, "/e", R"({"status":201,"note":"a"})"), *before), second);
  t.ran(one, 1);
  t.ran(two, 1);
}

void too_large(trial& t) {
  node_options options = t.own_options();
  options.defaults = "request_body_max = \"1KiB\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  t.problem(t.send(with_body(one, "/e", std::string(1025, 'x')), *own), 413, "body_too_large");
  request chunked = with_body(one, "/e", std::string(1025, 'x'));
  chunked.chunked = true;
  t.problem(t.send(chunked, *own), 413, "body_too_large");
  t.ran(one, 0);
  t.first(t.send(with_body(one, "/e", std::string(1024, 'y')), *own), 201);
}

constexpr std::array rows{
    row{"F-01", "Another payload under a completed key is refused and runs nothing.", other_body},
    row{"F-02", "After a mismatch the first request is still replayed.", other_body},
    row{"F-03 C04", "A mismatch is told at once, also while the first request runs.",
        while_running},
    row{"F-04", "A released key still belongs to its payload.", after_release},
    row{"F-05", "Another path under the same key is another request.", other_target},
    row{"F-06", "Another query under the same key is another request.", other_target},
    row{"F-07", "Another method under the same key is another request.", other_target},
    row{"F-08", "JSON is compared byte for byte, or by its meaning where the route says so.",
        json_spelling},
    row{"F-09", "By meaning, members may change places, elements may not.", json_spelling},
    row{"F-10", "A compressed body counts by its bytes, or by its content where the route says so.",
        compressed},
    row{"F-11", "Parameters of the media type do not count.", media_type},
    row{"F-12", "How a body was framed does not count.", framing},
    row{"F-13", "User agent, trace and a refreshed token do not count.", volatile_headers},
    skipped_row("F-14", "Path and body cannot flow into each other.",
                "about the hash itself: a unit test of the library"),
    row{"F-15", "Where fields are chosen, all others may change, also beside a JSON-RPC id.",
        chosen_fields},
    row{"F-16", "A retry is judged by the rule under which its record was made.", changed_rule},
    row{"F-17", "A body over the cap is refused before anything is recorded.", too_large},
    row{"F-18", "An empty body is a body.",
        [](trial& t) {
          const subject one = t.fresh();
          same(t, one, trial::post(one, "/e", ""), trial::post(one, "/e", ""));
        }},
    row{"C36", "A new release with another rule still knows the records of the old one.",
        changed_rule},
    row{"F-19", "A body that has no one meaning counts by its bytes.", no_one_meaning},
};

}  // namespace

std::span<const row> fingerprint_rows() {
  return rows;
}

}  // namespace conform
