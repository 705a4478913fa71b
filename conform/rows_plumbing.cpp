// HTTP/1.1 at the gateway: what is asked for, refused, passed and brought to one form.
#include <array>
#include <initializer_list>
#include <string>

#include <conform/row.hpp>

namespace conform {
namespace {

// The head of a POST, to be written by hand.
std::string head_of(const subject& one, const std::string& more, std::string_view version = "1.1",
                    const std::string& path = "/e") {
  std::string made = "POST " + path + "?case=" + one.name + " HTTP/";
  made.append(version).append("\r\nHost: conform.test\r\nX-Tenant: " + one.tenant + "\r\n");
  made += "Content-Type: application/json\r\n" + more + "\r\n";
  return made;
}

std::string key_line(const subject& one) {
  return "Idempotency-Key: " + one.key + "\r\n";
}

void expect_without_key(trial& t) {
  const subject one = t.fresh();
  connection client{t.n1().port()};
  client.raw().write(head_of(one, "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  const reply seen = client.receive();
  t.problem(seen, 400, "idempotency_key_missing");
  t.expect(seen.interim.empty(), "no 100 before the refusal");
  t.ran(one, 0);
}

void expect_with_key(trial& t) {
  const subject one = t.fresh();
  connection client{t.n1().port()};
  client.raw().deadline(steady::now() + 10s);
  client.raw().write(head_of(one, key_line(one) + "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  const auto invited = client.raw().line();
  t.expect(invited && invited->rfind("HTTP/1.1 100", 0) == 0, "100 before the body is sent");
  client.raw().line();
  client.raw().write("{}");
  t.first(client.receive(), 201);
  t.ran(one, 1);
}

void expect_on_1_0(trial& t) {
  const subject one = t.fresh();
  connection client{t.n1().port()};
  client.raw().write(
      head_of(one, key_line(one) + "Content-Length: 2\r\nExpect: 100-continue\r\n", "1.0") + "{}");
  const reply seen = client.receive();
  t.first(seen, 201);
  t.expect(seen.interim.empty(), "no 100 to HTTP/1.0");
}

// Answered 400, and the connection ends: what follows could be anybody's.
void refused_head(trial& t, const subject& one, const std::string& bytes) {
  connection client{t.n1().port()};
  client.raw().write(bytes);
  t.problem(client.receive(), 400, "bad_request");
  client.raw().deadline(steady::now() + 10s);
  t.expect(client.raw().peer_leaves(), "the connection is closed behind it");
  t.ran(one, 0);
}

void smuggling(trial& t) {
  const auto attempt = [&](const std::string& lines, const std::string& body) {
    const subject one = t.fresh();
    refused_head(t, one, head_of(one, key_line(one) + lines) + body);
  };
  const std::string inner = "0\r\n\r\nPOST /e HTTP/1.1\r\nHost: x\r\n\r\n";
  attempt("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", inner);
  attempt("Transfer-Encoding: xchunked\r\n", inner);
  attempt("Transfer-Encoding: gzip, chunked\r\n", inner);
  attempt("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", inner);
  attempt("Content-Length: 2\r\nContent-Length: 2\r\n", "{}");
  attempt("Content-Length: 2, 2\r\n", "{}");
  attempt("Content-Length: +2\r\n", "{}");
  attempt("X-Folded: a\r\n b\r\nContent-Length: 2\r\n", "{}");
  attempt("Content-Length : 2\r\n", "{}");
  attempt("Host: other.test\r\nContent-Length: 2\r\n", "{}");
  const subject bare = t.fresh();
  refused_head(t, bare, "POST /e HTTP/1.1\nHost: x\n\n");
}

void slow_body(trial& t) {
  node_options options = t.own_options();
  options.limits = "body_timeout = \"1s\"\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  connection client{own->port()};
  client.raw().write(head_of(one, key_line(one) + "Content-Length: 20\r\n") + "{");
  t.problem(client.receive(), 408, "request_timeout");
  t.ran(one, 0);
  t.first(t.send(trial::post(one), *own), 201);
}

void trailers_of_a_request(trial& t) {
  const subject one = t.fresh();
  request chunked = trial::post(one);
  chunked.chunked = true;
  chunked.trailers = {{"X-Digest", "abc"}};
  const reply original = t.send(chunked);
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one)), original);
  t.ran(one, 1);
}

constexpr std::size_t large = std::size_t{100} << 20;
constexpr long gateway_kib_max = 96 << 10;

void large_download(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject one = t.fresh();
  t.script(one, "[{\"status\":200,\"size\":" + std::to_string(large) + "}]");
  request asked = trial::post(one, "/g", "");
  asked.method = "GET";
  const reply seen = exchange(own->port(), asked, 60s);
  t.expect(seen.complete && seen.body.size() == large, "every byte arrives: " + shown(seen));
  t.expect(own->peak_kib() < gateway_kib_max,
           "and never lies whole in the gateway: " + std::to_string(own->peak_kib()) + " KiB");
}

void large_upload(trial& t) {
  const auto own = t.own_node(t.own_options());
  const subject one = t.fresh();
  request asked = trial::post(one, "/plain", std::string(large, 'x')).add("X-Body", "any");
  const reply seen = exchange(own->port(), asked, 60s);
  t.first(seen, 201);
  t.expect(own->peak_kib() < gateway_kib_max,
           "it never lies whole in the gateway: " + std::to_string(own->peak_kib()) + " KiB");
}

void until_close(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"framing":"close","body":"to the end"})");
  const reply original = t.send(asked);
  t.first(original, 201);
  t.expect(original.body == "to the end", "the whole body");
  t.replay_of(t.send(asked), original);
  t.ran(one, 1);
}

void key_in_connection(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(trial::post(one).add("Connection", "Idempotency-Key")), 400, "bad_request");
  t.problem(t.send(trial::post(one, "/plain").add("Connection", "close, idempotency-key")), 400,
            "bad_request");
  t.ran(one, 0);
}

void forwarded_fields(trial& t) {
  const subject one = t.fresh();
  request asked =
      trial::post(one).add("X-Forwarded-Proto", "https").add("X-Forwarded-For", "10.0.0.9");
  t.first(t.send(asked), 201);
  const auto runs = t.runs(one, 1, 1);
  if (!t.expect(runs.size() == 1, "one run")) return;
  const fields& seen = runs.front().headers;
  t.expect(value(seen, "Idempotency-Key") == one.key, "the key as it was sent");
  t.expect(lists(seen, "Via", "1.1 callonce"), "Via");
  t.expect(value(seen, "X-Forwarded-For") == "10.0.0.9, 127.0.0.1", "the peer appended");
  t.expect(value(seen, "X-Forwarded-Proto") == "http", "a stranger's word is not believed");
  t.expect(value(seen, "X-Forwarded-Host") == "conform.test", "the host that was asked");
}

void one_normal_form(trial& t) {
  const subject one = t.fresh();
  const auto spelled = [&](const std::string& path) {
    request asked = trial::post(one);
    asked.target = path + "?case=" + one.name;
    return t.send(asked);
  };
  const reply original = spelled("/json/e");
  t.first(original, 201);
  for (const char* path : {"http://conform.test/json/e", "/x/../json/e", "/json/./e", "/%6Ason/e",
                           "/x/%2e%2E/json/e", "/../json/e"}) {
    t.replay_of(spelled(path), original);
  }
  t.ran(one, 1);
  const subject two = t.fresh();
  for (const char* path : {"/json/%zz", "/json/e#top", "ftp://conform.test/json/e"}) {
    request asked = trial::post(two);
    asked.target = path;
    t.problem(t.send(asked), 400, "bad_request");
  }
}

constexpr std::array rows{
    row{"G-01", "A request that will be refused is not asked for its body.", expect_without_key},
    row{"G-02", "A client that asks first is told to continue before it sends.", expect_with_key},
    row{"G-03", "HTTP/1.0 is never told to continue.", expect_on_1_0},
    row{"G-04", "A head that can be read in two ways is refused and its connection closed.",
        smuggling},
    row{"G-05", "A body that stops coming is given up and leaves nothing behind.", slow_body},
    row{"G-06", "Lines behind a request's body are no part of it.", trailers_of_a_request},
    row{"G-07", "A large answer that is not protected streams through.", large_download,
        company::alone},
    row{"G-08", "A large request that is not protected streams through.", large_upload,
        company::alone},
    row{"G-09", "An answer that ends with its connection is stored whole.", until_close},
    row{"G-10", "A key that a client's Connection field would drop is refused.", key_in_connection},
    row{"G-11", "The application sees the key as sent, and who forwarded it.", forwarded_fields},
    row{"G-12", "All spellings of a target are routed, compared and forwarded as one.",
        one_normal_form},
};

}  // namespace

std::span<const row> plumbing_rows() {
  return rows;
}

}  // namespace conform
