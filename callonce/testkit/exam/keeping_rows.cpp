#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

using namespace std::string_literals;

const identity k = id_of("k");

// P-23, C60: keys and scopes are bytes; nothing folds case, blanks or accents.
void keys_and_scopes_are_compared_byte_for_byte(candidate& at) {
  const std::vector<identity> all{
      id_of("abc"),      id_of("ABC"), id_of("abc "),         id_of(" abc"),          id_of("e"),
      id_of("\xC3\xA9"), id_of("ss"),  id_of("\xC3\x9F"),     id_of("a\0b"s),         id_of("a"),
      id_of("%"),        id_of("_"),   id_of("abc", "Alice"), id_of("abc", "alice "), id_of("'\"")};
  unsigned number = 1;
  for (const identity& each : all) {
    const claim_reply met = at.claim(wish_of(each, number++));
    EXPECT_EQ(met.kind, claim_kind::first) << each.key().bytes();
    EXPECT_EQ(met.verdict, claim_verdict::claimed) << each.key().bytes();
  }
  number = 1;
  for (const identity& each : all) EXPECT_EQ(at.look_up(each)->claim_id, claim_number(number++));
}

// C59: up to 255 bytes, and what differs only in the last one differs.
void keys_of_every_length_are_whole(candidate& at) {
  unsigned number = 1;
  for (const std::size_t length : {1, 2, 254, 255}) {
    for (const char last : {'x', 'y', '\0'}) {
      std::string key(length, 'x');
      key.back() = last;
      at.win(wish_of(id_of(key, std::to_string(length)), number));
      const auto found = at.look_up(id_of(key, std::to_string(length)));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->id.key().bytes(), key);
      EXPECT_EQ(found->claim_id, claim_number(number++));
    }
  }
}

std::string every_byte() {
  std::string all;
  for (int each = 0; each < 256; ++each) all += static_cast<char>(each);
  return all;
}

// C44, C64, C65: bodies are bytes from end to end; empty, null and one zero byte are three things.
void bodies_come_back_byte_for_byte(candidate& at) {
  const std::vector<std::string> bodies{"",
                                        "null",
                                        "\"\"",
                                        "\0"s,
                                        "\0\x01ok"s,
                                        every_byte(),
                                        "\xC3\x28",
                                        "\xF0\x9F\x92",
                                        "\x80",
                                        "\xFF\xFEh\0i\0"s,
                                        "a\r\nb\nc\r",
                                        std::string(1 << 20, '\xE9')};
  for (const std::string& body : bodies) {
    const identity id = id_of("body of " + std::to_string(body.size()), body);
    at.complete(at.win(wish_of(id)), answer_of(body));
    const claim_reply met = at.claim(wish_of(id, 2));
    ASSERT_TRUE(met.current.answer);
    EXPECT_TRUE(met.current.answer->body.text() == body) << "body of " << body.size() << " bytes";
    EXPECT_EQ(met.current.answer->omitted, body_omitted::none);
  }
}

// C43, C65: lines in order, repeated ones apart, odd bytes kept.
void headers_come_back_in_order(candidate& at) {
  stored_answer answer;
  answer.status = 402;
  answer.headers.add("Link", "<a>; rel=next");
  answer.headers.add("Set-Cookie", "one=1");
  answer.headers.add("X-Bin", "\xE9\xFF");
  answer.headers.add("Set-Cookie", "two=2");
  answer.headers.add("Empty", "");
  answer.resource = "/v1/\xC3\xA9";
  const auto shared = std::make_shared<const stored_answer>(answer);
  at.complete(at.win(wish_of(k)), shared);
  EXPECT_EQ(*at.look_up(k)->answer, answer);
}

void a_body_left_out_stays_left_out(candidate& at) {
  for (const body_omitted why : {body_omitted::cap, body_omitted::stream}) {
    const identity id = id_of("omitted " + std::to_string(static_cast<int>(why)));
    stored_answer answer;
    answer.status = 200;
    answer.omitted = why;
    at.complete(at.win(wish_of(id)), std::make_shared<const stored_answer>(answer));
    EXPECT_EQ(*at.look_up(id)->answer, answer);
  }
}

void every_term_of_a_claim_is_kept(candidate& at) {
  claim_request wish = wish_of(k);
  wish.terms.response_body_max = 123456789012345;
  wish.terms.park = true;
  wish.terms.route = "/v1/\xC3\xA9/{id}";
  wish.terms.lease = 3600s;
  wish.terms.key_retention = 24h * 365;
  at.win(wish);
  const auto found = at.look_up(k);
  EXPECT_EQ(found->terms, wish.terms);
  EXPECT_EQ(found->fingerprint, wish.fingerprint);
}

void both_connections_see_one_record(candidate& at) {
  const fence by = at.win(wish_of(k, 1));
  at.use_second();
  EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress);
  EXPECT_EQ(at.claim(wish_of(k, 1)).kind, claim_kind::repeat);
  EXPECT_EQ(at.complete(by, answer_of("x")).verdict, write_verdict::done);
  at.use_first();
  EXPECT_EQ(at.claim(wish_of(k, 3)).verdict, claim_verdict::completed);
  EXPECT_EQ(at.complete(by, answer_of("x")).verdict, write_verdict::done) << "a repeat";
}

// K5, K11: what was acknowledged is there after a restart.
void what_is_durable_survives_a_restart(candidate& at) {
  if (!at.store().traits().durable) GTEST_SKIP() << "nothing here is durable";
  const fence running = at.win(wish_of(id_of("running"), 1));
  const fence finished = at.win(wish_of(id_of("finished"), 2));
  at.complete(finished, answer_of("kept"));
  const record before = *at.look_up(running.id);
  at.subject().restart();
  const record after = *at.look_up(running.id);
  EXPECT_EQ(after.lease_until, before.lease_until);
  EXPECT_EQ(after.expires_at, before.expires_at);
  EXPECT_EQ(at.claim(wish_of(running.id, 3)).verdict, claim_verdict::in_progress);
  EXPECT_EQ(at.claim(wish_of(running.id, 1)).kind, claim_kind::repeat);
  EXPECT_EQ(at.look_up(finished.id)->answer->body.text(), "kept");
  EXPECT_EQ(at.complete(finished, answer_of("kept")).verdict, write_verdict::done);
  EXPECT_EQ(at.complete(running, answer_of("now")).verdict, write_verdict::done);
}

// Pages.

std::set<std::string> keys_in(const record_page& page) {
  std::set<std::string> keys;
  for (const record& each : page.records) keys.emplace(each.id.key().bytes());
  return keys;
}

void make_one_of_each_state(candidate& at) {
  at.win(wish_of(id_of("claimed"), 1));
  at.complete(at.win(wish_of(id_of("completed"), 2)), answer_of("x"));
  at.release(at.win(wish_of(id_of("released"), 3)));
  at.pass(10s);
  claim_request other = wish_of(id_of("parked"), 4);
  other.terms.route = "/other";
  at.park(at.win(other));
}

using keys = std::set<std::string>;

void records_are_found_by_each_condition(candidate& at) {
  make_one_of_each_state(at);
  record_filter which;
  EXPECT_EQ(keys_in(at.find(which)), (keys{"claimed", "completed", "released", "parked"}));
  for (const record_state state : {record_state::claimed, record_state::completed,
                                   record_state::released, record_state::parked}) {
    which.state = state;
    EXPECT_EQ(keys_in(at.find(which)), keys{std::string{to_string(state)}});
  }
  which = {};
  which.route = "/other";
  EXPECT_EQ(keys_in(at.find(which)), keys{"parked"});
  which = {};
  which.older_than = 10s;
  EXPECT_EQ(keys_in(at.find(which)), (keys{"claimed", "completed", "released"}));
  which.state = record_state::released;
  EXPECT_EQ(keys_in(at.find(which)), keys{"released"});
}

void a_record_is_found_by_its_printable_id(candidate& at) {
  make_one_of_each_state(at);
  record_filter which;
  which.record_id = id_of("released").record_id();
  EXPECT_EQ(keys_in(at.find(which)), keys{"released"});
  for (const std::string wrong : {"0123456789abcdef", "0123", "not hexadecimal!"}) {
    which.record_id = wrong;
    EXPECT_EQ(keys_in(at.find(which)), keys{}) << wrong;
  }
}

void a_key_that_is_not_there_is_not_found(candidate& at) {
  at.win(wish_of(k));
  EXPECT_FALSE(at.look_up(id_of("other")));
  EXPECT_FALSE(at.look_up(id_of("k", "bob")));
}

void pages_go_on_where_the_last_one_ended(candidate& at) {
  keys all;
  for (int each = 0; each < 23; ++each) {
    const std::string key = "key " + std::to_string(each);
    at.win(wish_of(id_of(key)));
    all.insert(key);
  }
  record_filter which;
  which.limit = 5;
  keys seen;
  std::size_t pages = 0;
  do {
    const record_page page = at.find(which);
    EXPECT_LE(page.records.size(), 5u);
    for (const std::string& key : keys_in(page)) EXPECT_TRUE(seen.insert(key).second) << key;
    which.after = page.next;
    ++pages;
  } while (which.after != 0 && pages < 100);
  EXPECT_EQ(seen, all);
  EXPECT_EQ(pages, 5u);
}

}  // namespace

const std::vector<row>& keeping_rows() {
  static const std::vector<row> all{
      {"C60_keys_and_scopes_are_compared_byte_for_byte",
       keys_and_scopes_are_compared_byte_for_byte},
      {"C59_keys_of_every_length_are_whole", keys_of_every_length_are_whole},
      {"C44_C65_bodies_come_back_byte_for_byte", bodies_come_back_byte_for_byte},
      {"C65_headers_come_back_in_order", headers_come_back_in_order},
      {"a_body_left_out_stays_left_out", a_body_left_out_stays_left_out},
      {"every_term_of_a_claim_is_kept", every_term_of_a_claim_is_kept},
      {"both_connections_see_one_record", both_connections_see_one_record},
      {"what_is_durable_survives_a_restart", what_is_durable_survives_a_restart},
      {"records_are_found_by_each_condition", records_are_found_by_each_condition},
      {"a_record_is_found_by_its_printable_id", a_record_is_found_by_its_printable_id},
      {"a_key_that_is_not_there_is_not_found", a_key_that_is_not_there_is_not_found},
      {"pages_go_on_where_the_last_one_ended", pages_go_on_where_the_last_one_ended}};
  return all;
}

}  // namespace callonce::testkit::exam
