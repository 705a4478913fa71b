// Faults that were seen elsewhere: in what is compared, kept and given back.
#include <array>
#include <initializer_list>
#include <string>
#include <thread>

#include <conform/materials.hpp>
#include <conform/row.hpp>

namespace conform {
namespace {

constexpr const char* reused = "idempotency_key_reused";

request any_body(const subject& one, std::string_view path, std::string body) {
  return trial::post(one, path, std::move(body)).add("X-Body", "any");
}

// Sends a scripted answer twice; the replay.
reply scripted_replay(trial& t, const std::string& step, int status) {
  const subject one = t.fresh();
  t.script(one, "[" + step + "]");
  const reply original = t.send(trial::post(one));
  t.first(original, status);
  reply again = t.send(trial::post(one));
  t.replay_of(again, original);
  t.ran(one, 1);
  return again;
}

void member_order(trial& t) {
  const std::string first = R"({"a":1,"b":{"x":1,"y":[{"p":1,"q":2}]}})";
  const std::string turned = R"({ "b":{"y":[{"q":2,"p":1}],"x":1}, "a":1 })";
  for (const bool by_meaning : {true, false}) {
    const subject one = t.fresh();
    const std::string path = by_meaning ? "/json/e" : "/e";
    const reply original = t.send(any_body(one, path, first));
    t.first(original, 201);
    const reply again = t.send(any_body(one, path, turned));
    if (by_meaning) {
      t.replay_of(again, original);
    } else {
      t.problem(again, 422, reused);
    }
    t.ran(one, 1);
  }
}

// Each way to an answer compares the payload: claim, running, completed, released, taken over.
void every_path_compares(trial& t) {
  const std::string other = R"({"note":"other"})";
  const subject waiting = t.fresh();
  const request gated = trial::post(waiting, "/wait/e", R"({"gate":true})");
  auto owner = t.start(gated);
  t.await_runs(waiting, 1);
  t.problem(t.send(trial::post(waiting, "/wait/e", other)), 422, reused);
  t.problem(t.send(trial::post(waiting, "/wait/e", other), t.n2()), 422, reused);
  auto waiter = t.start(gated, t.n2());
  t.open_gate(waiting, 1);
  t.first(owner.get(), 201);
  t.replayed(waiter.get(), 201);
  t.problem(t.send(trial::post(waiting, "/wait/e", other), t.n2()), 422, reused);
  const subject lapsed = t.fresh();
  t.script(lapsed, R"([{"do":"reset"},{}])");
  t.problem(t.send(trial::post(lapsed, "/short/e")), 502, "upstream_broken");
  std::this_thread::sleep_for(2500ms);
  t.problem(t.send(trial::post(lapsed, "/short/e", other)), 422, reused);
  t.ran(lapsed, 1);
}

void query_counts(trial& t) {
  const subject one = t.fresh();
  const auto with = [&](const char* query) {
    request asked = trial::post(one);
    asked.target += query;
    return t.send(asked);
  };
  t.first(with("&to=b"), 201);
  for (const char* query : {"&to=c", "&to=b&dry=1", "", "&to=%62"}) {
    t.problem(with(query), 422, reused);
  }
  t.ran(one, 1);
}

void whole_body_counts(trial& t) {
  for (const std::size_t size : {1U, 4095U, 4096U, 16384U, 30721U, 65536U, 1048575U, 1500000U}) {
    const subject one = t.fresh();
    const std::string body = pattern(size);
    const reply original = t.send(any_body(one, "/e", body));
    t.first(original, 201);
    request chunked = any_body(one, "/e", body);
    chunked.chunked = true;
    t.replay_of(t.send(chunked), original);
    std::string changed = body;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    t.problem(t.send(any_body(one, "/e", changed)), 422, reused);
    t.ran(one, 1);
  }
}

void multipart(trial& t) {
  const auto form = [](const std::string& boundary) {
    return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--" +
           boundary + "--\r\n";
  };
  const subject one = t.fresh();
  const auto with = [&](const std::string& boundary) {
    return any_body(one, "/e", form(boundary))
        .set("Content-Type", "multipart/form-data; boundary=" + boundary);
  };
  const reply original = t.send(with("AaB03x"));
  t.first(original, 201);
  t.replay_of(t.send(with("AaB03x")), original);
  t.problem(t.send(with("zz--99")), 422, reused);
}

void headers_do_not_count(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  const std::array<std::pair<const char*, const char*>, 9> changed{
      {{"Date", "Tue, 01 Dec 2026 00:00:00 GMT"},
       {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
       {"X-Request-Id", "r2"},
       {"User-Agent", "b/2"},
       {"Authorization", "Bearer renewed"},
       {"X-Retry-Count", "2"},
       {"Via", "1.1 lb"},
       {"X-Forwarded-For", "192.0.2.1"},
       {"Cookie", "csrf=2"}}};
  request all = trial::post(one);
  for (const auto& [name, text] : changed) {
    t.replay_of(t.send(trial::post(one).add(name, text)), original);
    all.add(name, text);
  }
  t.replay_of(t.send(all), original);
  t.ran(one, 1);
}

void bound_to_the_operation(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one)), 201);
  for (const char* path : {"/opt", "/e/", "/wait/e"}) {
    t.problem(t.send(trial::post(one, path)), 422, reused);
  }
  request patch = trial::post(one, "/q");
  patch.method = "PATCH";
  t.problem(t.send(patch), 422, reused);
  t.ran(one, 1);
}

void whole_answer(trial& t) {
  const reply again = scripted_replay(
      t,
      R"({"headers":[["Location","/v1/orders/7"],["ETag","W/\"a\""],["Link","</a>; rel=x"],
          ["Link","</b>; rel=y"],["Content-Type","application/vnd.x+json; charset=utf-8"],
          ["X-Empty",""]],"body":"{\"id\":7}\n"})",
      201);
  t.expect(again.body == "{\"id\":7}\n" && again.get("ETag") == "W/\"a\"" &&
               values(again.headers, "Link").size() == 2 && has(again.headers, "X-Empty") &&
               again.get("Content-Type") == "application/vnd.x+json; charset=utf-8",
           "every end-to-end field and byte");
  for (const int status : {200, 202, 203, 299, 303, 400, 404, 410, 422}) {
    scripted_replay(t, "{\"status\":" + std::to_string(status) + "}", status);
  }
}

void framing_stays_home(trial& t) {
  const std::string lines =
      R"("headers":[["X-Hop","1"],["Keep-Alive","timeout=5"],["Proxy-Authenticate","Basic"]])";
  for (const std::string& frame : {std::string{"chunked"}, std::string{"length"}}) {
    const reply again =
        scripted_replay(t, "{" + lines + ",\"framing\":\"" + frame + "\",\"size\":40}", 201);
    t.expect(!has(again.headers, "Keep-Alive") && !has(again.headers, "Proxy-Authenticate") &&
                 !has(again.headers, "Transfer-Encoding") && again.get("Content-Length") == "40",
             "the gateway's own framing, and nothing of the first connection");
  }
}

void repeated_lines(trial& t) {
  std::string lines = R"(["Link","<a>; rel=\"x, y\""],["Link","<b>"],["Link","<c>"],)";
  lines += R"(["Vary","A"],["Vary","B"],["Cache-Control","private"],["Cache-Control","max-age=1"])";
  for (int i = 0; i < 60; ++i) lines += ",[\"X-L" + std::to_string(i) + "\",\"v\"]";
  lines += ",[\"X-Long\",\"" + std::string(7000, 'v') + "\"]";
  const subject one = t.fresh();
  t.script(one, "[{\"headers\":[" + lines + "]}]");
  const reply original = t.send(trial::post(one));
  const reply again = t.send(trial::post(one));
  t.replay_of(again, original);
  for (const char* name : {"Link", "Vary", "Cache-Control", "X-L0", "X-L59", "X-Long"}) {
    t.expect(values(again.headers, name) == values(original.headers, name) &&
                 !values(again.headers, name).empty(),
             std::string{name} + " as it was");
  }
}

void empty_bodies(trial& t) {
  for (const char* step : {R"({"status":204})", R"({"status":202,"body":""})",
                           R"({"status":200,"body":"null"})", R"({"status":200,"body":"\"\""})",
                           R"({"status":200,"body":"\u0000"})", R"({"status":205,"body":""})"}) {
    const std::string text = step;
    scripted_replay(t, text, std::stoi(text.substr(text.find("\"status\":") + 9, 3)));
  }
}

void in_pieces(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"framing":"chunked","size":200000})");
  const reply original = t.send(asked);
  t.first(original, 201);
  t.expect(original.body == pattern(200000), "all pieces of the first answer");
  const reply again = t.send(asked);
  t.replay_of(again, original);
}

void client_gone_before_reading(trial& t) {
  const subject one = t.fresh();
  {
    connection client{t.n1().port()};
    client.send(trial::post(one));
    client.raw().reset_on_close();
  }
  t.await_runs(one, 1, 1);
  const reply later = t.send_until_settled(trial::post(one), t.n1(), 5s);
  t.replayed(later, 201);
  for (const node* at : {&t.n1(), &t.n2()}) t.replay_of(t.send(trial::post(one), *at), later);
  t.ran(one, 1);
}

void present_state(trial& t) {
  const subject one = t.fresh();
  const request create = trial::post(one, "/e", R"({"do":"store","body":"new"})");
  const reply original = t.send(create);
  t.first(original, 201);
  const subject change = trial::with_key(one, "\"change\"");
  t.first(t.send(trial::post(change, "/e", R"({"do":"store","body":"cancelled"})")), 201);
  t.replay_of(t.send(create), original);
  const subject erase = trial::with_key(one, "\"erase\"");
  t.first(t.send(trial::post(erase, "/e", R"({"do":"erase"})")), 201);
  t.replay_of(t.send(create), original);
}

void transient_failures(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"status":500},{"status":503,"headers":[["Retry-After","1"]]},{}])");
  t.first(t.send(trial::post(one)), 500);
  t.first(t.send(trial::post(one)), 503);
  const reply settled = t.send(trial::post(one));
  t.first(settled, 201);
  t.replay_of(t.send(trial::post(one)), settled);
}

void throttling_and_credentials(trial& t) {
  for (const int status : {400, 401, 403, 404, 408, 409, 410, 422, 425, 429}) {
    const bool stays =
        status == 400 || status == 404 || status == 409 || status == 410 || status == 422;
    const subject one = t.fresh();
    t.script(one, "[{\"status\":" + std::to_string(status) + "},{}]");
    const reply original = t.send(trial::post(one));
    t.first(original, status);
    const reply again = t.send(trial::post(one));
    if (stays) {
      t.replay_of(again, original);
    } else {
      t.first(again, 201);
    }
  }
}

void checks_of_the_application(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{},{"status":429},{"status":404}])");
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  for (int i = 0; i < 4; ++i) t.replay_of(t.send(trial::post(one)), original);
  t.ran(one, 1);
}

void every_way_in(trial& t) {
  const subject one = t.fresh();
  connection kept{t.n1().port()};
  const reply original = kept.exchange(trial::post(one));
  t.first(original, 201);
  t.replay_of(kept.exchange(trial::post(one)), original);
  request chunked = trial::post(one);
  chunked.chunked = true;
  t.replay_of(kept.exchange(chunked), original);
  t.replay_of(t.send(trial::post(one).add("Expect", "100-continue")), original);
  t.replay_of(t.send(trial::post(one).add("X-HTTP-Method-Override", "GET")), original);
  request absolute = trial::post(one);
  absolute.target = "http://conform.test" + absolute.target;
  t.replay_of(t.send(absolute), original);
  t.ran(one, 1);
}

void caches(trial& t) {
  const reply again =
      scripted_replay(t,
                      R"({"headers":[["Cache-Control","public, max-age=60"],["Age","5"],
          ["Date","Tue, 01 Jan 2019 00:00:00 GMT"],["Expires","Tue, 01 Jan 2019 00:01:00 GMT"]]})",
                      201);
  t.expect(!has(again.headers, "Age") && again.get("Date").find("2019") == std::string::npos &&
               again.get("Cache-Control") == "public, max-age=60",
           "dated now, without an age, with the application's own policy");
}

constexpr std::array rows{
    row{"C30", "The order of JSON members counts by bytes, and does not by meaning.", member_order},
    row{"C31", "Every way to an answer compares the payload.", every_path_compares},
    row{"C32", "The query is part of the operation.", query_counts},
    row{"C34", "Every byte of a body counts, whatever its size and framing.", whole_body_counts,
        company::alone},
    row{"C37", "A multipart body with another boundary is another body.", multipart},
    row{"C38", "No header that differs between attempts counts.", headers_do_not_count},
    row{"C39", "A key never gives out the answer of another operation.", bound_to_the_operation},
    row{"C40", "A replay has the status, the fields and the bytes of the first answer.",
        whole_answer},
    skipped_row("C41", "A store that reads by another name than it writes is noticed.",
                "a store of this house has one name for a record; the store exam looks for it"),
    row{"C42", "Fields of the first connection are not on the replay.", framing_stays_home},
    row{"C43", "Repeated lines keep number, order and value.", repeated_lines},
    row{"C44", "An empty body is kept, and so is a body that looks like none.", empty_bodies},
    row{"C45", "An answer that comes in pieces is kept whole.", in_pieces},
    row{"C46", "A client that hung up gets the answer itself later, from every node.",
        client_gone_before_reading},
    row{"C47", "A replay does not look at the resource.", present_state},
    row{"C48", "A transient failure is followed by a run, and the success stays.",
        transient_failures},
    row{"C49", "Throttling and credential answers let the next request run.",
        throttling_and_credentials},
    skipped_row("C50", "An error that a framework maps is replayed as it was sent.",
                "about a library inside a framework; behind the gateway the wire decides"),
    row{"C51", "Checks inside the application do not spoil a replay.", checks_of_the_application},
    skipped_row("C52", "Nothing around the handler is done again for a replay.",
                "about hooks of a library; the engine has none, and R-01 counts the runs"),
    row{"C53", "Every way to send a protected request is protected.", every_way_in},
    row{"C55", "A replay is dated now and has no age.", caches},
};

}  // namespace

std::span<const row> payload_case_rows() {
  return rows;
}

}  // namespace conform
