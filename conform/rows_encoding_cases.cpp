// Faults that were seen elsewhere: in how keys are spelled and bodies are coded.
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

void spellings(trial& t) {
  const subject quoted = trial::with_key(t.fresh(), "\"k-1\"");
  const reply original = t.send(trial::post(quoted));
  t.first(original, 201);
  for (const char* same : {"k-1", "  k-1", "\"k-1\"  ", "\"k-1\";p=1"}) {
    t.replay_of(t.send(trial::post(trial::with_key(quoted, same))), original);
  }
  for (const char* wrong : {"\"abc", "abc\"", "\"a\"b\"", "\"a\\x\"", "\"\"", "'k-1'"}) {
    t.problem(t.send(trial::post(trial::with_key(quoted, wrong))), 400, "idempotency_key_invalid");
  }
  t.ran(quoted, 1);
}

void blank_keys(trial& t) {
  for (const char* blank : {"", "   ", "\"\"", "\"   \""}) {
    const subject one = trial::with_key(t.fresh(), blank);
    t.problem(t.send(trial::post(one, "/opt")), 400, "idempotency_key_invalid");
    t.ran(one, 0);
  }
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, "/opt").drop("Idempotency-Key")), 201);
  t.first(t.send(trial::post(one, "/opt", R"({"note":"b"})").drop("Idempotency-Key")), 201);
}

void lengths(trial& t) {
  for (const std::size_t length : {1U, 254U, 255U}) {
    const subject one = trial::with_key(t.fresh(), '"' + std::string(length, 'k') + '"');
    const reply original = t.send(trial::post(one));
    t.first(original, 201);
    t.replay_of(t.send(trial::post(one)), original);
  }
  for (const std::size_t length : {256U, 2048U, 8000U}) {
    const subject one = trial::with_key(t.fresh(), '"' + std::string(length, 'k') + '"');
    t.problem(t.send(trial::post(one)), 400, "idempotency_key_invalid");
    t.ran(one, 0);
  }
}

void no_folding(trial& t) {
  const subject one = t.fresh();
  int runs = 0;
  for (const char* key : {"\"Ab1\"", "\"aB1\"", "\"k\"", "\"k \"", "\"ss\"", "\"SS\""}) {
    t.first(t.send(trial::post(trial::with_key(one, key))), 201);
    t.ran(one, static_cast<std::size_t>(++runs));
  }
  subject upper = trial::with_key(one, "\"Ab1\"");
  upper.tenant = "TENANT" + one.tenant.substr(6);
  t.first(t.send(trial::post(upper)), 201);
}

void strange_bytes(trial& t) {
  for (const char* refused :
       {"\"\x01\"", "\"\x1b[2J\"", "\"\x7f\"", "\"\x80\"", "\"\xff\"", "\"\xf0\x9f\x98\x80\""}) {
    const subject one = trial::with_key(t.fresh(), refused);
    const reply seen = t.send(trial::post(one));
    t.expect(seen.status == 400, "refused, seen " + shown(seen));
    t.ran(one, 0);
  }
  for (const char* plain :
       {"\"../../etc\"", "\"${jndi:x}\"", "\"'; drop table\"", "\"*\"", "\"{a}\"", "\"%0d%0a\""}) {
    const subject one = trial::with_key(t.fresh(), plain);
    const reply original = t.send(trial::post(one));
    t.first(original, 201);
    t.replay_of(t.send(trial::post(one)), original);
  }
}

void keys_of_browsers(trial& t) {
  const subject one = t.fresh();
  for (int i = 0; i < 2; ++i) t.first(t.send(trial::post(one, "/plain")), 201);
  t.ran(one, 2);
  const subject login = t.fresh();
  t.script(login, R"([{"status":429},{"status":401},{"status":200}])");
  for (const int status : {429, 401, 200}) t.first(t.send(trial::post(login)), status);
}

void two_pages(trial& t) {
  node_options options = t.own_options();
  options.top = "cors_origins = [\"https://a.example\", \"https://b.example\"]\n";
  const auto own = t.own_node(options);
  const subject one = t.fresh();
  request preflight;
  preflight.method = "OPTIONS";
  preflight.target = "/e?case=" + one.name;
  preflight.add("Origin", "https://a.example").add("Access-Control-Request-Method", "POST");
  preflight.add("Access-Control-Request-Headers", "content-type,idempotency-key");
  preflight.add("Idempotency-Key", one.key);
  const reply allowed = t.send(preflight, *own);
  t.first(allowed, 204);
  t.expect(lists(allowed.headers, "Access-Control-Allow-Headers", "idempotency-key"),
           "the key may be sent");
  const request mismatch = trial::post(one, "/e", R"({"note":"B2"})");
  t.first(t.send(trial::post(one).add("Origin", "https://a.example"), *own), 201);
  for (const char* origin : {"https://a.example", "https://b.example"}) {
    const reply told = t.send(request{mismatch}.add("Origin", origin), *own);
    t.problem(told, 422, reused);
    t.expect(told.get("Access-Control-Allow-Origin") == origin, "each page reads its own answer");
  }
  t.ran(one, 1);
}

void any_bytes(trial& t) {
  const subject one = t.fresh();
  const request asked = trial::post(one, "/e", R"({"size":70000})");
  const reply original = t.send(asked);
  t.first(original, 201);
  t.expect(original.body == pattern(70000), "every byte value");
  t.replay_of(t.send(asked), original);
}

void zero_bytes(trial& t) {
  const subject one = t.fresh();
  t.script(one, R"([{"body":"\u0000\u0001ok","headers":[["X-Bin","é"]]}])");
  const request asked = any_body(one, "/e", std::string("a\0b", 3));
  const reply original = t.send(asked);
  t.first(original, 201);
  t.expect(original.body == std::string("\0\1ok", 4), "zero bytes pass");
  const reply again = t.send(asked);
  t.replay_of(again, original);
  t.expect(again.get("X-Bin") == original.get("X-Bin"), "bytes beyond ASCII in a field too");
}

void compressed_anew(trial& t) {
  const std::string plain = R"({"amount":1,"pad":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})";
  const subject one = t.fresh();
  const auto coded = [&](const std::string& bytes) {
    return any_body(one, "/gzip/e", bytes).add("Content-Encoding", "gzip");
  };
  const reply original = t.send(coded(gzip(plain, 9)));
  t.first(original, 201);
  t.replay_of(t.send(coded(gzip(plain, 1))), original);
  t.replay_of(t.send(any_body(one, "/gzip/e", plain)), original);
  const std::string half = plain.substr(0, 20);
  t.replay_of(t.send(coded(gzip(half, 6) + gzip(plain.substr(20), 6))), original);
  t.problem(t.send(coded(gzip(R"({"amount":2})", 6))), 422, reused);
  t.problem(t.send(coded("no gzip at all")), 422, reused);
  t.ran(one, 1);
  // A bomb costs no more than the cap, and counts by its bytes.
  const subject bomb = t.fresh();
  const std::string large = gzip(std::string(std::size_t{80} << 20, 'a'), 9);
  const auto sent = any_body(bomb, "/gzip/e", large).add("Content-Encoding", "gzip");
  const reply taken = t.send(sent);
  t.first(taken, 201);
  t.replay_of(t.send(sent), taken);
}

void lengths_that_lie(trial& t) {
  node_options options = t.own_options();
  options.defaults = "request_body_max = \"64KiB\"\n";
  const auto own = t.own_node(options);
  const auto sized = [&](std::size_t size) {
    request made = any_body(t.fresh(), "/e", std::string(size, 'x'));
    made.chunked = true;
    return t.send(made, *own);
  };
  t.first(sized(std::size_t{64} << 10), 201);
  t.problem(sized((std::size_t{64} << 10) + 1), 413, "body_too_large");
  const subject one = t.fresh();
  for (const char* lines : {"Content-Length: -1\r\n", "Content-Length: 5,5\r\n",
                            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"}) {
    connection client{own->port()};
    client.raw().write("POST /e?case=" + one.name + " HTTP/1.1\r\nHost: x\r\nX-Tenant: t\r\n" +
                       "Idempotency-Key: \"a\"\r\n" + lines + "\r\n{}");
    t.problem(client.receive(), 400, "bad_request");
  }
  {
    connection client{own->port()};
    client.raw().write("POST /e?case=" + one.name + " HTTP/1.1\r\nHost: x\r\nX-Tenant: t\r\n" +
                       "Idempotency-Key: \"a\"\r\nContent-Length: 10\r\n\r\n123456789");
    client.raw().close();
  }
  t.first(t.send(trial::post(t.fresh()), *own), 201);
  t.ran(one, 0);
}

constexpr std::array rows{
    row{"C57", "Quoted and bare spelling, parameters and blanks give one key.", spellings},
    row{"C58", "A blank key is refused, and no key is no key.", blank_keys},
    row{"C59", "A key has 1 to 255 bytes.", lengths},
    row{"C60", "Keys and scopes differ by case and by trailing blanks.", no_folding},
    row{"C61", "Control bytes are refused, and what only looks dangerous is a key.", strange_bytes},
    row{"C62", "Keys that a browser adds change nothing where nobody protects.", keys_of_browsers},
    row{"C63", "Several pages may use one gateway.", two_pages},
    row{"C64", "Every byte value of a body survives.", any_bytes},
    row{"C65", "Zero bytes survive in bodies, and bytes beyond ASCII in fields.", zero_bytes},
    row{"C67", "A body that is compressed anew is the same where the route says so.",
        compressed_anew, company::alone},
    row{"C68", "Limits count what comes, not what is announced.", lengths_that_lie},
};

}  // namespace

std::span<const row> encoding_case_rows() {
  return rows;
}

}  // namespace conform
