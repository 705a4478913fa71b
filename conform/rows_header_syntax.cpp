// The key as it comes: present or not, in which spelling, how often, how long.
#include <array>
#include <string>

#include <conform/row.hpp>

namespace conform {
namespace {

constexpr std::string_view invalid = "idempotency_key_invalid";
constexpr std::string_view missing = "idempotency_key_missing";

// Bare UUIDs: a structured-field parser reads the first as a broken number, the second as a token.
constexpr const char* digit_uuid = "1f0c5a52-7d1e-4b1c-9a53-0c2f6f2b7a10";
constexpr const char* letter_uuid = "bf0c5a52-7d1e-4b1c-9a53-0c2f6f2b7a10";

// Refused as malformed, and nothing ran.
void refused(trial& t, const std::string& header_value, std::string_view path = "/e") {
  const subject one = trial::with_key(t.fresh(), header_value);
  t.problem(t.send(trial::post(one, path)), 400, invalid);
  t.ran(one, 0);
}

// The second spelling finds what the first one did.
void same_key(trial& t, const std::string& first_spelling, const std::string& second_spelling) {
  const subject one = trial::with_key(t.fresh(), first_spelling);
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(trial::with_key(one, second_spelling))), original);
  t.ran(one, 1);
}

void missing_key(trial& t) {
  const subject one = t.fresh();
  t.problem(t.send(trial::post(one).drop("Idempotency-Key")), 400, missing);
  t.ran(one, 0);
}

void optional_route_without_key(trial& t) {
  const subject one = t.fresh();
  const request bare = trial::post(one, "/opt").drop("Idempotency-Key");
  t.first(t.send(bare), 201);
  t.first(t.send(bare), 201);
  t.ran(one, 2);
}

void unprotected_route_with_key(trial& t) {
  const subject one = t.fresh();
  t.first(t.send(trial::post(one, "/plain")), 201);
  t.first(t.send(trial::post(one, "/plain")), 201);
  // Had one of them left a record, this other target under the same key would be a mismatch.
  t.first(t.send(trial::post(one)), 201);
  t.ran(one, 3);
}

void escapes(trial& t) {
  const subject one = trial::with_key(t.fresh(), R"("a\"b\\c")");
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one)), original);
  t.ran(one, 1);
  const auto found = t.n1().command({"keys", "show"}, {"--scope", one.tenant, "--key", R"(a"b\c)"});
  t.expect(found.code == 0, "the record stands under the unescaped key: " + found.output);
}

void forbidden_bytes(trial& t) {
  using namespace std::string_literals;
  refused(t, "\"a\tb\"");
  refused(t, "\"a\xc3\xa9\"");
  // NUL and DEL may not stand in any header, so that the reader of the head may refuse them first.
  for (const std::string& value : {"\"a\0b\""s, "\"a\x7f\""s}) {
    const subject one = trial::with_key(t.fresh(), value);
    const reply seen = t.send(trial::post(one));
    const std::string code = json_member(seen.body, "code");
    t.expect(seen.status == 400 && (code == invalid || code == "bad_request"),
             "a control byte in the key is a 400, seen " + shown(seen));
    t.ran(one, 0);
  }
}

void lengths(trial& t) {
  const std::string longest(255, 'k');
  same_key(t, '"' + longest + '"', longest);
  for (const std::string& value : {longest + "k", '"' + longest + "k\""}) {
    const subject one = trial::with_key(t.fresh(), value);
    const reply seen = t.send(trial::post(one));
    t.problem(seen, 400, invalid);
    t.expect(json_member(seen.body, "reason") == "too_long",
             "the reason is too_long, seen " + seen.body);
    t.ran(one, 0);
  }
}

void huge_header(trial& t) {
  const subject one = trial::with_key(t.fresh(), std::string(64 << 10, 'k'));
  connection client{t.n1().port()};
  const reply seen = client.exchange(trial::post(one));
  if (seen.status == 400) {
    t.problem(seen, 400, "bad_request");
  } else {
    t.problem(seen, 431, "headers_too_large");
  }
  t.expect(client.raw().peer_leaves(), "the connection is closed after it");
  t.ran(one, 0);
}

void key_in_trailer(trial& t) {
  const subject one = t.fresh();
  request sent = trial::post(one).drop("Idempotency-Key");
  sent.chunked = true;
  sent.trailers.emplace_back("Idempotency-Key", one.key);
  t.problem(t.send(sent), 400, missing);
  t.ran(one, 0);
}

void odd_case(trial& t) {
  const subject one = t.fresh();
  const request odd = trial::post(one).drop("Idempotency-Key").add("iDEMPOTENCY-kEY", one.key);
  const reply original = t.send(odd);
  t.first(original, 201);
  t.replay_of(t.send(odd), original);
  t.ran(one, 1);
}

void distinct_keys(trial& t) {
  const subject one = t.fresh();
  for (const char* key : {"abc", "ABC", "\"abc \""}) {
    t.first(t.send(trial::post(trial::with_key(one, key))), 201);
  }
  t.ran(one, 3);
}

void metacharacters(trial& t) {
  const std::string text = R"('; DROP TABLE record; -- ${x} %0d%0aX-A: 1 \\r\\n ]] return 1 <b>)";
  const subject one = trial::with_key(t.fresh(), '"' + text + '"');
  const reply original = t.send(trial::post(one));
  t.first(original, 201);
  t.replay_of(t.send(trial::post(one)), original);
  const reply other = t.send(trial::post(one, "/e", R"({"do":"ok","note":"other"})"));
  t.problem(other, 422, "idempotency_key_reused");
  t.expect(!has(other.headers, "X-A"), "no header comes out of the key");
  constexpr std::string_view part = "DROP TABLE record";
  t.expect(other.body.find(part) == std::string::npos, "the problem does not show the key");
  t.expect(t.n1().log().find(part) == std::string::npos, "the log does not show the key");
  t.ran(one, 1);
}

void two_lines(trial& t, const char* second) {
  const subject one = trial::with_key(t.fresh(), "\"a\"");
  t.problem(t.send(trial::post(one).add("Idempotency-Key", second)), 400, invalid);
  t.ran(one, 0);
}

void key_format(trial& t) {
  for (const char* wrong :
       {"\"c232ab00-9414-11ec-b3c8-9f6bdeced846\"", "\"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\"",
        "\"00000000-0000-0000-0000-000000000000\"", "\"no uuid\"",
        "\"919108f7-52d1-4320-9bac-f847db4148a8x\""}) {
    const subject one = trial::with_key(t.fresh(), wrong);
    const reply seen = t.send(trial::post(one, "/uuid4/e"));
    t.problem(seen, 400, "idempotency_key_invalid");
    t.expect(json_member(seen.body, "reason") == "format", "the reason is the format");
    t.ran(one, 0);
  }
  t.first(t.send(trial::post(t.fresh(), "/uuid4/e")), 201);
}

constexpr std::array rows{
    row{"P-01", "A route that requires a key refuses a request without one and runs nothing.",
        missing_key},
    row{"P-02", "Where the key is optional, requests without one run each time, unmarked.",
        optional_route_without_key},
    row{"P-03", "On an unprotected route a key changes nothing and leaves no record.",
        unprotected_route_with_key},
    row{"P-04", "A quoted key without its closing quote is malformed.",
        [](trial& t) { refused(t, "\"abc"); }},
    row{"P-05", "A backslash may escape only a quote or a backslash.",
        [](trial& t) { refused(t, "\"a\\x\""); }},
    row{"P-06", "A quoted key is stored without its escapes and found again.", escapes},
    row{"P-07", "Tab, NUL, DEL and non-ASCII bytes inside the quotes are refused.",
        forbidden_bytes},
    skipped_row("P-08", "The key parser agrees with the published structured-field string vectors.",
                "about the parser itself: a unit test of the library"),
    row{"P-09", "A bare UUID that begins with a digit is a key.",
        [](trial& t) { same_key(t, digit_uuid, digit_uuid); }},
    row{"P-10", "A bare UUID that begins with a letter is a key too.",
        [](trial& t) { same_key(t, letter_uuid, letter_uuid); }},
    row{"P-11", "Strict syntax refuses every bare key, whatever it begins with.",
        [](trial& t) {
          refused(t, digit_uuid, "/strict/e");
          refused(t, letter_uuid, "/strict/e");
        }},
    row{"P-12", "The quoted and the bare spelling of one value are one key.",
        [](trial& t) { same_key(t, "\"u-1\"", "u-1"); }},
    row{"P-13", "Parameters behind a quoted key are no part of it.",
        [](trial& t) { same_key(t, "\"u-1\";v=1", "\"u-1\""); }},
    row{"P-14", "Two key lines with different values are refused.",
        [](trial& t) { two_lines(t, "\"b\""); }},
    row{"P-15", "Two key lines are refused even when they are equal.",
        [](trial& t) { two_lines(t, "\"a\""); }},
    row{"P-16", "A list in one line is refused, quoted or bare.",
        [](trial& t) {
          refused(t, R"("a", "b")");
          refused(t, "a,b");
        }},
    row{"P-17", "No value, only spaces, or an empty quoted string is no key.",
        [](trial& t) {
          refused(t, "");
          refused(t, "   ");
          refused(t, "\"\"");
        }},
    row{"P-18", "A key of 255 bytes is taken, one of 256 refused as too long.", lengths},
    row{"P-19", "A header line of 64 KiB is answered before the connection closes.", huge_header},
    row{"P-20", "A key that comes only as a trailer counts as missing.", key_in_trailer},
    row{"P-21", "The field's name is matched in any case.", odd_case},
    row{"P-22", "White space around the value is no part of the key.",
        [](trial& t) { same_key(t, "  \"u-1\" \t", "\"u-1\""); }},
    row{"P-23", "Keys that differ in case or in a trailing space are different keys.",
        distinct_keys},
    row{"P-24", "Structured-field items that are not strings are refused.",
        [](trial& t) {
          for (const char* item : {"%\"x\"", "@1", "?1", "'x'", "(x)"}) refused(t, item);
        }},
    row{"P-25", "A quoted key full of metacharacters is only a key, and is never shown.",
        metacharacters},
    row{"P-26", "A key that does not have the route's key format is refused.", key_format},
};

}  // namespace

std::span<const row> header_syntax_rows() {
  return rows;
}

}  // namespace conform
