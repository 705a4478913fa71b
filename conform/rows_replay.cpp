// What a retry gets: the first answer, as it was, and what of it is made anew.
#include <array>
#include <ctime>
#include <string>

#include <conform/row.hpp>

namespace conform {
namespace {

// Sends the step twice; the first answer has this status, the second is its replay, one run.
reply replays(trial& t, int status, const std::string& step) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one, "/e", step));
  t.first(original, status);
  reply again = t.send(trial::post(one, "/e", step));
  t.replay_of(again, original);
  t.ran(one, 1);
  return again;
}

void no_content(trial& t) {
  const reply again = replays(t, 204, R"({"status":204})");
  for (const char* name : {"Content-Type", "Content-Length", "Transfer-Encoding"}) {
    t.expect(!has(again.headers, name), std::string{"a 204 has no "} + name);
  }
}

void sizes(trial& t) {
  const reply empty = replays(t, 200, R"({"status":200,"body":""})");
  t.expect(empty.body.empty(), "no body");
  // Exactly the largest body that is kept by default.
  const reply whole = replays(
      t, 200,
      R"({"status":200,"size":1048576,"headers":[["Content-Type","application/octet-stream"]]})");
  t.expect(whole.body == pattern(1 << 20), "every byte as the application sent it");
}

// The record answers, not the resource as it is now.
void resource_moves_on(trial& t, const std::string& change, int then_status) {
  const subject one = t.fresh();
  const std::string create =
      R"({"do":"store","body":"v1","headers":[["Location","/g?case=)" + one.name + "\"]]}";
  const reply original = t.send(trial::post(one, "/e", create));
  t.first(original, 201);
  t.first(t.send(trial::post(one, "/plain", change)), 201);
  request look = trial::post(one, "/g", "");
  look.method = "GET";
  look.drop("Idempotency-Key");
  // The application looks its resource up when it is told to read.
  t.script(one, R"([{"do":"read"}])");
  t.expect(t.send(look).status == then_status, "the resource has changed meanwhile");
  t.replay_of(t.send(trial::post(one, "/e", create)), original);
  t.expect(original.body == "v1", "the original body");
}

void repeated_lines(trial& t) {
  const subject one = t.fresh();
  const std::string step = R"({"headers":[["Link","</a>; rel=a"],["X-A","1"],
      ["Link","</b>; rel=b"],["X-A","2, 3"]]})";
  const reply original = t.send(trial::post(one, "/e", step));
  t.first(original, 201);
  const reply again = t.send(trial::post(one, "/e", step));
  t.replay_of(again, original);
  for (const auto* seen : {&original, &again}) {
    t.expect(
        values(seen->headers, "Link") == std::vector<std::string>{"</a>; rel=a", "</b>; rel=b"},
        "two Link lines in order");
    t.expect(values(seen->headers, "X-A") == std::vector<std::string>{"1", "2, 3"},
             "two X-A lines in order");
  }
}

void cookies(trial& t) {
  const std::string step = R"({"headers":[["Set-Cookie","a=1; Path=/"],["Set-Cookie","b=2"]]})";
  const std::vector<std::string> both{"a=1; Path=/", "b=2"};
  const subject one = t.fresh();
  t.expect(values(t.send(trial::post(one, "/e", step)).headers, "Set-Cookie") == both,
           "the first answer sets both cookies");
  const reply again = t.send(trial::post(one, "/e", step));
  t.replayed(again, 201);
  t.expect(!has(again.headers, "Set-Cookie"), "the replay sets none");
  const subject kept = t.fresh();
  t.first(t.send(trial::post(kept, "/cookies/e", step)), 201);
  const reply with = t.send(trial::post(kept, "/cookies/e", step));
  t.replayed(with, 201);
  t.expect(values(with.headers, "Set-Cookie") == both,
           "where they are kept, both lines, not joined");
}

void dates(trial& t) {
  const std::string old = "Tue, 15 Nov 1994 08:12:31 GMT";
  const reply again = replays(t, 201, R"({"headers":[["Date",")" + old + R"("],["Age","7"]]})");
  std::tm parsed{};
  const std::string date = again.get("Date");
  const bool readable = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parsed) != nullptr;
  // One second, and one more because the field has no fractions.
  t.expect(readable && std::abs(std::difftime(std::time(nullptr), ::timegm(&parsed))) <= 2,
           "the replay's Date is now, seen " + date);
  t.expect(!has(again.headers, "Age"), "no Age on a replay");
}

void hop_by_hop(trial& t) {
  const subject one = t.fresh();
  const std::string step = R"({"framing":"chunked","headers":[["Connection","x-foo, keep-alive"],
      ["X-Foo","1"],["Keep-Alive","timeout=5"],["Proxy-Authenticate","Basic"]]})";
  t.first(t.send(trial::post(one, "/e", step)), 201);
  connection client{t.n1().port()};
  const reply again = client.exchange(trial::post(one, "/e", step));
  t.replayed(again, 201);
  for (const char* name : {"X-Foo", "Keep-Alive", "Proxy-Authenticate", "Transfer-Encoding", "TE",
                           "Trailer", "Upgrade"}) {
    t.expect(!has(again.headers, name), std::string{"no "} + name + " on a replay");
  }
  t.expect(!lists(again.headers, "Connection", "x-foo"), "Connection does not name X-Foo");
  t.expect(again.get("Content-Length") == std::to_string(again.body.size()),
           "one framing, with the right length");
  t.replayed(client.exchange(trial::post(one, "/e", step)), 201);
  t.ran(one, 1);
}

void other_accept(trial& t) {
  const subject one = t.fresh();
  const request ask = trial::post(one, "/e", R"({"do":"negotiate"})");
  const reply original = t.send(request{ask}.add("Accept", "application/xml"));
  t.first(original, 201);
  t.expect(original.get("Content-Type") == "application/xml", "XML as asked for");
  t.replay_of(t.send(request{ask}.add("Accept", "application/json")), original);
  t.ran(one, 1);
}

void other_coding(trial& t) {
  const subject one = t.fresh();
  const request ask = trial::post(one, "/e", R"({"do":"negotiate"})");
  const reply original = t.send(request{ask}.add("Accept-Encoding", "gzip"));
  t.first(original, 201);
  const reply again = t.send(ask);
  t.replay_of(again, original);
  t.expect(!has(again.headers, "Content-Encoding") && again.body == "{\"run\":1}",
           "a body that a client without gzip can read");
  t.ran(one, 1);
}

void other_connection(trial& t) {
  const subject one = t.fresh();
  connection client{t.n1().port()};
  const reply original = client.exchange(trial::post(one));
  t.first(original, 201);
  t.replay_of(client.exchange(trial::post(one)), original);
  t.replay_of(t.send(trial::post(one)), original);
  t.ran(one, 1);
}

void application_hints(trial& t) {
  const reply again = replays(
      t, 402,
      R"({"status":402,"headers":[["Retry-After","120"],["Stripe-Should-Retry","false"]]})");
  t.expect(again.get("Retry-After") == "120" && again.get("Stripe-Should-Retry") == "false",
           "both of the application's hints are replayed");
}

void many_replays(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  for (const reply& seen : simultaneously(trial::post(one), 100, {&t.n1()})) {
    t.replay_of(seen, original);
  }
  t.ran(one, 1);
}

void mark_of_the_application(trial& t) {
  const subject one = t.fresh();
  const std::string step = R"({"headers":[["Idempotent-Replayed","true"]]})";
  t.first(t.send(trial::post(one, "/e", step)), 201);
  const reply again = t.send(trial::post(one, "/e", step));
  t.replayed(again, 201);
  t.expect(values(again.headers, "Idempotent-Replayed").size() == 1, "the mark stands once");
}

void restart(trial& t) {
  const subject one = t.fresh();
  const auto own = t.own_node(t.own_options());
  const reply original = t.send(trial::post(one), *own);
  t.first(original, 201);
  t.expect(own->stop() == 0, "an idle gateway drains and exits with 0");
  own->start();
  t.replay_of(t.send(trial::post(one), *own), original);
  t.ran(one, 1);
}

void other_node(trial& t) {
  const subject one = t.fresh();
  const reply original = t.send(trial::post(one), t.n1());
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one), t.n2()), original);
  t.ran(one, 1);
}

void trailers(trial& t) {
  for (const int size : {40, 40000}) {
    const subject one = t.fresh();
    const std::string step = "{\"size\":" + std::to_string(size) +
                             R"(,"trailers":[["X-Sum","1"],["X-Sum","2"],["Set-Cookie","a=b"]]})";
    const request plain = trial::post(one, "/e", step);
    const request asks = trial::post(one, "/e", step).add("TE", "trailers").add("Connection", "TE");
    const reply original = t.send(asks);
    t.first(original, 201);
    const fields wanted{{"X-Sum", "1"}, {"X-Sum", "2"}};
    t.expect(original.trailers == wanted, "both lines on the first answer");
    const reply again = t.send(asks);
    t.replay_of(again, original);
    t.expect(again.trailers == wanted, "both lines on the replay");
    const reply without = t.send(plain);
    t.replay_of(without, original);
    t.expect(without.trailers.empty(), "none for a client that does not ask");
    t.ran(one, 1);
  }
}

void interims(trial& t) {
  const subject one = t.fresh();
  const request asked =
      trial::post(one, "/e", R"({"hints":[["Link","</style.css>; rel=preload"]]})");
  const reply original = t.send(asked);
  t.first(original, 201);
  t.expect(original.interim.size() == 1 && original.interim.front().first == 103 &&
               value(original.interim.front().second, "Link") == "</style.css>; rel=preload",
           "the hint comes before the answer");
  const reply again = t.send(asked);
  t.replay_of(again, original);
  t.expect(again.interim.empty(), "no hint on the replay");
  t.ran(one, 1);
}

void compressed(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject same_bytes = t.fresh();
  t.script(same_bytes, "[{\"body\":\"" + std::string(std::size_t{512} << 10, 'a') + "\"}]");
  const subject all_bytes = t.fresh();
  const request random = trial::post(all_bytes, "/e", R"({"size":524288})");
  const reply first = t.send(trial::post(same_bytes), *own);
  const reply second = t.send(random, *own);
  t.first(first, 201);
  t.first(second, 201);
  t.expect(first.body.size() == std::size_t{512} << 10, "the whole body");
  own->stop();
  own->start();
  t.replay_of(t.send(trial::post(same_bytes), *own), first);
  t.replay_of(t.send(random, *own), second);
}

constexpr std::array rows{
    row{"R-01", "A retry gets the first status, Location and body, marked as replayed.",
        [](trial& t) { replays(t, 201, R"({"headers":[["Location","/v1/things/1"]]})"); }},
    row{"R-02", "A replayed 204 has no body and nothing that speaks of one.", no_content},
    row{"R-03", "An empty body and a mebibyte of arbitrary bytes are replayed exactly.", sizes},
    row{"R-04", "A redirect after POST is replayed with its target.",
        [](trial& t) {
          replays(t, 303, R"({"status":303,"headers":[["Location","/v1/things/1"]]})");
        }},
    row{"R-05", "A replay shows the first body although the resource has changed since.",
        [](trial& t) { resource_moves_on(t, R"({"do":"store","body":"v2"})", 200); }},
    row{"R-06", "A replay shows the first body although the resource is gone.",
        [](trial& t) { resource_moves_on(t, R"({"do":"erase"})", 404); }},
    row{"R-07", "Repeated header lines keep their number, order and values.", repeated_lines},
    row{"R-08", "Cookies are set by the first answer only, unless the route keeps them.", cookies},
    row{"R-09", "A replay is dated now and carries no Age.", dates},
    row{"R-10", "Hop-by-hop fields are not replayed and the framing is the gateway's own.",
        hop_by_hop},
    row{"R-11", "A retry that accepts another media type gets the stored one.", other_accept},
    row{"R-12", "A stored body is readable for a client that accepts no coding.", other_coding},
    row{"R-13", "A retry on the same and on another connection gets the same answer.",
        other_connection},
    row{"R-14", "Retry hints that the application set are replayed with its error.",
        application_hints},
    row{"R-15", "A hundred retries at once get a hundred equal replays.", many_replays,
        company::alone},
    row{"R-16", "Only the gateway marks an answer as replayed, never the application.",
        mark_of_the_application},
    row{"R-17", "Trailers are replayed to clients that ask for them, and to no others.", trailers},
    row{"R-18", "Interim answers are passed on the first time and not replayed.", interims},
    row{"R-19", "A replay outlives the restart of the gateway.", restart},
    row{"R-20", "A second gateway on the same store replays the first one's answer.", other_node},
    row{"R-21", "Answers stored compressed are replayed byte for byte.", compressed},
};

}  // namespace

std::span<const row> replay_rows() {
  return rows;
}

}  // namespace conform
