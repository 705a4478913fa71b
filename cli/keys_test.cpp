#include <algorithm>

#include <cli/test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::cli::test {
namespace {

// One gateway over one store, and the verbs beside it.
struct desk {
  scratch at;
  application behind;
  std::string config =
      at.file("c.toml", "listen = \"127.0.0.1:0\"\nadmin = \"\"\nupstream = \"" + behind.url() +
                            "\"\n[scope]\nfrom = \"header:X-Api-Key\"\n"
                            "[[route]]\npath = \"/charges\"\n");
  served gateway{{"--config", config}};

  reply post(const std::string& key, const std::string& path = "/charges") {
    return ask(gateway.port(), "POST", path, {"X-Api-Key: me", "Idempotency-Key: " + key}, "a=1");
  }
  ended keys(const std::string& verb, lines words) {
    words.insert(words.begin(), {"keys", verb, "--config", config});
    return run(words);
  }
  lines named(const std::string& key, const lines& more = {}) {
    lines words{"--scope", "me", "--key", key};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string id_of(const std::string& key) {
    const std::string json = keys("show", named(key, {"--json"})).out;
    return json.substr(json.find("\"id\":\"") + 6, 16);
  }
};

TEST(keys, a_key_is_found_by_scope_and_key_and_by_its_id) {
  desk at;
  EXPECT_EQ(at.post("one").status, 201);
  const ended by_key = at.keys("show", at.named("one"));
  EXPECT_EQ(by_key.code, 0) << by_key.err;
  EXPECT_NE(by_key.out.find("completed"), std::string::npos) << by_key.out;
  EXPECT_NE(by_key.out.find("201"), std::string::npos);
  const ended by_id = at.keys("show", {at.id_of("one")});
  EXPECT_EQ(by_id.out, by_key.out);
  EXPECT_EQ(at.keys("show", {at.id_of("one"), "--body"}).out, "call 1");
  EXPECT_EQ(at.keys("show", at.named("two")).code, 4);
  EXPECT_EQ(at.keys("show", {"0123456789abcdef"}).code, 4);
  EXPECT_EQ(at.keys("show", {"xyz"}).code, 1);
  EXPECT_EQ(at.keys("show", {}).code, 1);
}

TEST(keys, the_store_itself_knows_the_scope_rule) {
  desk at;
  at.post("one");
  const ended said = run({"keys", "show", "--store", "sqlite:" + (at.at / "callonce.db").string(),
                          "--scope", "me", "--key", "one"});
  EXPECT_EQ(said.code, 0) << said.err;
}

TEST(keys, records_are_listed_by_state_and_route) {
  desk at;
  at.post("one");
  at.post("two", "/status/503");
  const ended all = at.keys("list", {});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 3) << all.out;
  const ended released = at.keys("list", {"--state", "released", "--json"});
  EXPECT_EQ(std::count(released.out.begin(), released.out.end(), '\n'), 1) << released.out;
  EXPECT_NE(released.out.find("\"state\":\"released\""), std::string::npos);
  EXPECT_NE(released.out.find(at.id_of("two")), std::string::npos);
  EXPECT_NE(at.keys("list", {"--route", "/charges"}).out.find(at.id_of("one")), std::string::npos);
  EXPECT_EQ(at.keys("list", {"--older", "1h", "--json"}).out, "");
  EXPECT_NE(at.keys("list", {"--limit", "1"}).out.find("more"), std::string::npos);
  EXPECT_EQ(at.keys("list", {"--state", "lost"}).code, 1);
  EXPECT_EQ(at.keys("list", {"--older", "soon"}).code, 1);
}

TEST(keys, a_settled_answer_is_what_every_retry_gets) {
  desk at;
  EXPECT_EQ(at.post("one", "/status/503").status, 503);
  const lines answer{"--status", "201",     "--header", "Location: /charges/7",
                     "--body",   "settled", "--reason", "the provider's books"};
  const auto settle = [&](const char* attempt) {
    lines words = at.named("one", answer);
    words.insert(words.end(), {"--attempt", attempt});
    return at.keys("settle", words);
  };
  const ended stale = settle("7");
  EXPECT_EQ(stale.code, 4);
  EXPECT_NE(stale.err.find("attempt 1"), std::string::npos) << stale.err;
  const ended right = settle("1");
  EXPECT_EQ(right.code, 0) << right.err;
  const reply retry = at.post("one", "/status/503");
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.body, "settled");
  EXPECT_TRUE(retry.has("Location: /charges/7"));
  EXPECT_TRUE(retry.has("Idempotent-Replayed: true"));
  EXPECT_EQ(at.behind.calls(), 1);
  EXPECT_EQ(settle("2").code, 4);  // completed is final
}

TEST(keys, a_released_claim_lets_the_next_retry_run_and_fences_its_owner) {
  desk at;
  const connection owner{at.gateway.port()};
  owner.send(request_text("POST", "/hang", {"X-Api-Key: me", "Idempotency-Key: one"}, "a=1"));
  at.behind.await_calls(1);
  const ended shown = at.keys("show", at.named("one"));
  EXPECT_NE(shown.out.find("claimed"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(" left"), std::string::npos) << shown.out;
  const ended released =
      at.keys("release", at.named("one", {"--attempt", "1", "--reason", "a test", "--json"}));
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_NE(released.out.find("\"state\":\"released\""), std::string::npos);
  at.behind.let_go();
  owner.read();
  EXPECT_NE(at.keys("show", at.named("one")).out.find("released"), std::string::npos);
  EXPECT_EQ(at.post("one", "/hang").body, "call 2");
}

TEST(keys, many_are_settled_from_a_file) {
  desk at;
  for (const char* key : {"one", "two", "three"}) at.post(key, "/status/503");
  const std::string file = at.at.file(
      "settle.jsonl", "{\"id\":\"" + at.id_of("one") +
                          "\",\"attempt\":1,\"status\":200,"
                          "\"headers\":[[\"X-From\",\"books\"]],\"body\":\"kept\"}\n\n" +
                          "{\"id\":\"" + at.id_of("two") + "\",\"attempt\":1}\n" + "{\"id\":\"" +
                          at.id_of("three") + "\",\"attempt\":9}\nnot json\n");
  const ended said = at.keys("settle", {"--file", file, "--reason", "an outage"});
  EXPECT_EQ(said.code, 4);
  EXPECT_NE(said.out.find(at.id_of("one") + ": completed"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(at.id_of("two") + ": released"), std::string::npos) << said.out;
  EXPECT_NE(said.err.find(at.id_of("three") + ": not applied"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find(file + ":5: is no JSON object"), std::string::npos) << said.err;
  const reply settled = at.post("one", "/status/503");
  EXPECT_EQ(settled.body, "kept");
  EXPECT_TRUE(settled.has("X-From: books"));
}

TEST(keys, writing_verbs_need_an_attempt_and_a_reason) {
  desk at;
  at.post("one", "/status/503");
  EXPECT_EQ(at.keys("release", at.named("one", {"--attempt", "1"})).code, 1);
  EXPECT_EQ(at.keys("release", at.named("one", {"--reason", "why"})).code, 1);
  EXPECT_EQ(at.keys("settle", at.named("one", {"--attempt", "1", "--reason", "why"})).code, 1);
  EXPECT_EQ(at.keys("settle", at.named("one", {"--attempt", "1", "--reason", "why", "--status",
                                               "204", "--body", "x"}))
                .code,
            1);
}

TEST(keys, a_store_that_is_not_there_is_one_line_and_2) {
  const ended said = run({"keys", "list", "--store", "sqlite:/nonexistent/keys.db"});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.err.find('\n'), said.err.size() - 1) << said.err;
  EXPECT_EQ(run({"keys", "list", "--store", "memory:"}).code, 1);
  EXPECT_EQ(run({"keys", "list", "--store", "redis://x"}).code, 1);
}

TEST(purge, says_what_it_removed) {
  desk at;
  at.post("one");
  const ended said = run({"purge", "--config", at.config});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out.rfind("removed 0 records", 0), 0U) << said.out;
  EXPECT_EQ(at.post("one").body, "call 1");
}

}  // namespace
}  // namespace callonce::cli::test
