// SIGHUP, and the verbs that look at what a configuration means.
#include <csignal>

#include <cli/test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::cli::test {
namespace {

std::string config_text(const application& behind, const std::string& more) {
  return "upstream = \"" + behind.url() +
         "\"\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[scope]\n"
         "from = \"header:X-Api-Key\"\n" +
         more;
}

lines keyed(const std::string& key) {
  return {"X-Api-Key: me", "Idempotency-Key: " + key};
}

TEST(reload, counts_for_new_claims_and_leaves_what_runs_alone) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind, ""));
  served gateway{{"--config", file}};
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", {}).status, 201);
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("raw"), "{\"a\":1}").body, "call 2");
  connection running{gateway.port()};
  running.send(request_text("POST", "/hang", keyed("slow"), "x"));
  behind.await_calls(3);

  at.file("c.toml",
          config_text(behind, "[defaults]\nkey = \"required\"\nfingerprint = \"json\"\n"));
  gateway.signal(SIGHUP);
  gateway.await_line("\"event\":\"reloaded\"");
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", {}).status, 400);
  // F-16: the record keeps the rule that it was made by.
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("raw"), "{\"a\":1}").body, "call 2");
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("raw"), "{ \"a\":1}").status, 422);
  EXPECT_EQ(ask(gateway.port(), "POST", "/hang", keyed("slow"), "x").status, 409);
  behind.let_go();
  EXPECT_EQ(running.read().status, 201);
  EXPECT_TRUE(
      ask(gateway.port(), "POST", "/hang", keyed("slow"), "x").has("Idempotent-Replayed: true"));
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(reload, of_a_wrong_file_changes_nothing_and_says_why) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind, ""));
  served gateway{{"--config", file}};
  const struct {
    std::string text;
    const char* says;
  } rows[] = {
      {config_text(behind, "[defaults]\nleese = \"5s\"\n"), "unknown key"},
      {config_text(behind, "[limits]\nconnections = 7\n"),
       "limits.connections: is 10000 until a restart"},
      {config_text(behind, "[defaults]\nkey_per = \"route\"\n"), "--accept-new-scopes"},
      {"", "upstream: is missing"},
  };
  for (const auto& row : rows) {
    at.file("c.toml", row.text);
    gateway.signal(SIGHUP);
    EXPECT_NE(gateway.await_line(row.says).find("reload_refused"), std::string::npos);
    EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("one")).body, "call 1");
  }
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(keys, of_a_route_with_an_identity_of_its_own_are_found_by_the_request) {
  const scratch at;
  application behind;
  const std::string file =
      at.file("c.toml", config_text(behind,
                                    "[[route]]\npath = \"/a\"\nkey_per = \"route\"\n"
                                    "[[route]]\npath = \"/b\"\nscope = [\"header:X-Api-Key\", "
                                    "\"header:X-Seat\"]\n"));
  served gateway{{"--config", file}};
  ask(gateway.port(), "POST", "/a", keyed("one"));
  lines seated = keyed("two");
  seated.push_back("X-Seat: 7");
  ask(gateway.port(), "POST", "/b", seated);
  const auto show = [&](const lines& more) {
    lines words{"keys", "show", "--config", file};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_EQ(show({"--scope", "me", "--key", "one"}).code, 4);
  EXPECT_EQ(show({"--scope", "me", "--key", "one", "--request", "POST /a"}).code, 0);
  EXPECT_EQ(show({"--scope", "me", "--key", "two", "--request", "POST /b"}).code, 1);
  EXPECT_EQ(show({"--scope", "me", "--scope", "7", "--key", "two", "--request", "POST /b"}).code,
            0);
  EXPECT_EQ(show({"--scope", "me", "--key", "one", "--request", "/a"}).code, 1);
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(policy, says_what_an_api_should_publish) {
  const scratch at;
  application behind;
  const std::string file =
      at.file("c.toml", config_text(behind,
                                    "[[route]]\npath = \"/acp/*\"\nprofile = \"acp\"\n"
                                    "[[route]]\npath = \"/login\"\nkey = \"off\"\n"));
  const ended said = run({"policy", "--config", file});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* part :
       {"## /acp/*", "**Without a key**: 400", "the meaning of the JSON body",
        "elsewhere it is another key", "## /login", "Keys are not looked at here",
        "## All other paths", "the request runs each time",
        "**Another request under the key**: 422"}) {
    EXPECT_NE(said.out.find(part), std::string::npos) << part << " in " << said.out;
  }
  EXPECT_EQ(run({"policy", "--config", at.file("w.toml", "x = 1\n")}).code, 1);
}

}  // namespace
}  // namespace callonce::cli::test
