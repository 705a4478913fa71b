#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <cli/test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::cli::test {
namespace {

const lines as_me{"X-Api-Key: secret-tenant"};

lines keyed(const std::string& key, lines more = as_me) {
  more.push_back("Idempotency-Key: " + key);
  return more;
}

std::string config_text(const application& behind, const std::string& more = {},
                        const std::string& top = {}) {
  return top + "upstream = \"" + behind.url() + "\"\n" +
         (top.find("listen") == std::string::npos ? "listen = \"127.0.0.1:0\"\n" : "") +
         "admin = \"127.0.0.1:0\"\n[scope]\nfrom = \"header:X-Api-Key\"\n" + more;
}

std::string member(const std::string& line, const std::string& name) {
  const std::string mark = "\"" + name + "\":";
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t from = at + mark.size();
  return line.substr(from, line.find_first_of(",}", from) - from);
}

TEST(serve, a_retry_gets_the_first_answer_and_a_drain_ends_with_0) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind))}};
  const reply first = ask(gateway.port(), "POST", "/charges", keyed("one"), "a=1");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, "call 1");
  const reply again = ask(gateway.port(), "POST", "/charges", keyed("one"), "a=1");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, "call 1");
  EXPECT_TRUE(again.has("Idempotent-Replayed: true"));
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("one"), "a=2").status, 422);
  EXPECT_EQ(ask(gateway.port(), "GET", "/charges").body, "call 2");
  EXPECT_EQ(gateway.stop(), 0);
  EXPECT_EQ(behind.calls(), 2);
}

TEST(serve, the_command_line_alone_is_enough) {
  const scratch at;
  application behind;
  served gateway{{"--upstream", behind.url(), "--scope", "header:X-Api-Key", "--listen",
                  "127.0.0.1:0", "--admin", "127.0.0.1:0", "--store",
                  "sqlite:" + (at / "keys.db").string()}};
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("one")).status, 201);
  EXPECT_TRUE(std::filesystem::exists(at / "keys.db"));
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(serve, records_outlive_the_process) {
  const scratch at;
  application behind;
  const std::string file = at.file("c.toml", config_text(behind));
  {
    served gateway{{"--config", file}};
    EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("one")).body, "call 1");
    EXPECT_EQ(gateway.stop(), 0);
  }
  served gateway{{"--config", file}};
  EXPECT_EQ(ask(gateway.port(), "POST", "/charges", keyed("one")).body, "call 1");
}

TEST(serve, the_start_line_says_what_is_served) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind,
                                                            "[[route]]\npath = \"/a\"\n"
                                                            "class = \"rerunnable\"\n"))}};
  gateway.stop();
  const std::string log = gateway.log();
  for (const char* part : {"\"version\":\"", "\"listen\":\"127.0.0.1:", "\"store\":\"sqlite\"",
                           "header:X-Api-Key", "\"routes\":1", "opaque 1, rerunnable 1"}) {
    EXPECT_NE(log.find(part), std::string::npos) << part << " in " << log;
  }
}

TEST(serve, a_busy_port_is_one_line_and_2) {
  const scratch at;
  application behind;
  served first{{"--config", at.file("c.toml", config_text(behind))}};
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  const ended second = run({"serve", "--upstream", behind.url(), "--scope", "shared", "--admin",
                            "127.0.0.1:0", "--store", "memory:", "--listen", address});
  EXPECT_EQ(second.code, 2);
  EXPECT_EQ(second.err, "callonce: listen: " + address +
                            " is in use: stop the program that listens there, or choose another "
                            "address\n");
  const std::string admin = "127.0.0.1:" + std::to_string(first.admin());
  const ended third = run({"serve", "--upstream", behind.url(), "--scope", "shared", "--listen",
                           "127.0.0.1:0", "--store", "memory:", "--admin", admin});
  EXPECT_EQ(third.code, 2);
  EXPECT_EQ(third.err.rfind("callonce: admin: " + admin + " is in use", 0), 0U) << third.err;
}

TEST(serve, a_store_that_cannot_be_written_is_one_line_and_2) {
  const scratch at;
  const ended said = run({"serve", "--upstream", "http://127.0.0.1:9", "--scope", "shared",
                          "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--store",
                          "sqlite:" + (at / "no/such/directory/keys.db").string()});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.err.rfind("callonce: store.url: sqlite:", 0), 0U) << said.err;
  EXPECT_EQ(said.err.find('\n'), said.err.size() - 1) << said.err;
}

TEST(serve, a_changed_scope_rule_is_refused_unless_it_is_meant) {
  const scratch at;
  application behind;
  const std::string store = "sqlite:" + (at / "keys.db").string();
  const auto words = [&](const char* rule) {
    return lines{"--upstream",  behind.url(), "--scope",     rule,      "--listen",
                 "127.0.0.1:0", "--admin",    "127.0.0.1:0", "--store", store};
  };
  {
    served gateway{words("header:X-Api-Key")};
    EXPECT_EQ(gateway.stop(), 0);
  }
  lines other = words("header:X-Account");
  other.insert(other.begin(), "serve");
  const ended said = run(other);
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("header:X-Api-Key"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("--accept-new-scopes"), std::string::npos) << said.err;
  other.erase(other.begin());
  other.emplace_back("--accept-new-scopes");
  served gateway{other};
  EXPECT_EQ(gateway.stop(), 0);
}

TEST(serve, running_attempts_are_finished_before_the_end) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind))}};
  const connection client{gateway.port()};
  client.send(request_text("POST", "/hang", keyed("one"), ""));
  behind.await_calls(1);
  gateway.signal(SIGTERM);
  gateway.await_line("\"event\":\"draining\"");
  EXPECT_EQ(ask(gateway.admin(), "GET", "/readyz").status, 503);
  behind.let_go();
  EXPECT_EQ(client.read().status, 201);
  EXPECT_EQ(gateway.wait(), 0);
}

const char* hasty = "[defaults]\ntimeout = \"200ms\"\n[limits]\ndrain = \"300ms\"\n";

TEST(serve, what_still_runs_at_the_deadline_is_left_and_the_end_is_3) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind, hasty))}};
  EXPECT_EQ(ask(gateway.port(), "POST", "/hang", keyed("one")).status, 504);
  EXPECT_EQ(gateway.stop(), 3);
  EXPECT_NE(gateway.log().find("drain_deadline"), std::string::npos);
}

TEST(serve, a_second_signal_ends_it_at_once) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind))}};
  const connection client{gateway.port()};
  client.send(request_text("POST", "/hang", keyed("one"), ""));
  behind.await_calls(1);
  gateway.signal(SIGTERM);
  gateway.await_line("\"event\":\"draining\"");
  gateway.signal(SIGINT);
  EXPECT_EQ(gateway.wait(), 3);
}

TEST(serve, connections_beyond_the_limit_wait_for_room) {
  const scratch at;
  application behind;
  served gateway{
      {"--config", at.file("c.toml", config_text(behind, "[limits]\nconnections = 1\n"))}};
  const connection second = [&] {
    const connection first{gateway.port()};
    first.send(request_text("GET", "/", {}, ""));
    EXPECT_EQ(first.read().status, 201);
    return connection{gateway.port()};
  }();
  second.send(request_text("GET", "/", {}, ""));
  EXPECT_EQ(second.read().status, 201);
}

TEST(serve, it_listens_on_a_socket_file_and_replaces_a_stale_one) {
  const scratch at;
  application behind;
  const std::string file =
      at.file("c.toml", config_text(behind, "", "listen = \"unix:front.sock\"\n"));
  {
    served gateway{{"--config", file}};
    gateway.signal(SIGKILL);
    gateway.wait();
  }
  EXPECT_TRUE(std::filesystem::exists(at / "front.sock"));
  served gateway{{"--config", file}};
  const connection client{at / "front.sock"};
  client.send(request_text("GET", "/", {}, ""));
  EXPECT_EQ(client.read().status, 201);
}

TEST(serve, an_identity_is_believed_from_a_listed_hop_only) {
  const scratch at;
  application behind;
  const auto status_with = [&](const char* hops) {
    served gateway{
        {"--config", at.file("c.toml", "listen = \"127.0.0.1:0\"\nadmin = \"\"\nupstream = \"" +
                                           behind.url() + "\"\nproxies = [\"" + hops +
                                           "\"]\n[scope]\nfrom = \"trusted:X-User\"\n"
                                           "[store]\nurl = \"memory:\"\n")}};
    return ask(gateway.port(), "POST", "/", keyed("one", {"X-User: jane"})).status;
  };
  EXPECT_EQ(status_with("127.0.0.0/8"), 201);
  EXPECT_EQ(status_with("10.0.0.1"), 401);
}

TEST(admin, health_readiness_and_metrics_are_read_only) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind))}};
  EXPECT_EQ(member(ask(gateway.admin(), "GET", "/healthz").body, "durable"), "true");
  EXPECT_EQ(ask(gateway.admin(), "GET", "/readyz").body, "{\"ready\":true}\n");
  const reply metrics = ask(gateway.admin(), "GET", "/metrics");
  EXPECT_TRUE(metrics.has("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_NE(metrics.body.find("callonce_build_info"), std::string::npos);
  EXPECT_EQ(ask(gateway.admin(), "POST", "/readyz").status, 405);
  EXPECT_EQ(ask(gateway.admin(), "GET", "/else").status, 404);
  EXPECT_EQ(ask(gateway.port(), "GET", "/healthz").body, "call 1");
}

// A store of one process says so where it is looked after.
TEST(admin, C85_a_memory_store_says_that_it_is_not_durable) {
  application behind;
  served gateway{{"--upstream", behind.url(), "--scope", "shared", "--listen", "127.0.0.1:0",
                  "--admin", "127.0.0.1:0", "--store", "memory:"}};
  const std::string health = ask(gateway.admin(), "GET", "/healthz").body;
  EXPECT_EQ(member(health, "store"), "\"memory\"");
  EXPECT_EQ(member(health, "durable"), "false");
  EXPECT_EQ(member(health, "shared"), "false");
  gateway.stop();
  EXPECT_NE(gateway.log().find("development only"), std::string::npos);
  EXPECT_NE(gateway.log().find("read each other's answers"), std::string::npos);
}

// C113 and C114: what clients do with keys is counted by route; no client makes a series.
TEST(metrics, requests_are_counted_by_route_and_outcome_and_nothing_else) {
  const scratch at;
  application behind;
  served gateway{
      {"--config", at.file("c.toml", config_text(behind, "[[route]]\npath = \"/o/{id}\"\n"))}};
  const auto series = [&](const std::string& outcome) {
    const std::string all = ask(gateway.admin(), "GET", "/metrics").body;
    const std::string mark =
        "callonce_requests_total{outcome=\"" + outcome + "\",route=\"/o/{id}\"} ";
    const std::size_t found = all.find(mark);
    return found == std::string::npos ? -1 : std::atoi(all.c_str() + found + mark.size());
  };
  const std::string before = ask(gateway.admin(), "GET", "/metrics").body;
  for (int i = 0; i < 20; ++i) ask(gateway.port(), "POST", "/o/" + std::to_string(i), as_me);
  for (int i = 0; i < 3; ++i) ask(gateway.port(), "POST", "/o/1", keyed("\"open"));
  for (int i = 0; i < 6; ++i) ask(gateway.port(), "POST", "/o/1", keyed("one"));
  ask(gateway.port(), "FOO", "/o/2", as_me);
  ask(gateway.port(), "GET", "/nowhere/" + std::string(100, 'x'));
  EXPECT_EQ(series("no_key"), 20);
  EXPECT_EQ(series("idempotency_key_invalid"), 3);
  EXPECT_EQ(series("executed"), 1);
  EXPECT_EQ(series("replayed"), 5);
  EXPECT_EQ(series("unprotected"), 1);
  const std::string after = ask(gateway.admin(), "GET", "/metrics").body;
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'),
            std::count(after.begin(), after.end(), '\n'));
}

// C61 and C112: neither key nor credential nor body nor control byte; one id joins the lines.
TEST(log, a_keys_lines_have_its_records_id_and_nothing_that_the_client_meant_to_keep) {
  const scratch at;
  application behind;
  served gateway{
      {"--config", at.file("c.toml", config_text(behind, "[log]\nlevel = \"debug\"\n"))}};
  const std::string key = "\"mail-jane.roe@example.test\"";
  const std::string body = R"({"card":"4000-0000"})";
  for (const char* path : {"/status/503", "/status/503", "/charges", "/charges?token=s3cret"}) {
    ask(gateway.port(), "POST", path, keyed(key), body);
  }
  ask(gateway.port(), "POST", "/charges", keyed("a\x1b[2J"), body);
  ask(gateway.port(), "GET", "/\xff\xfe%1b[2J");
  gateway.stop();
  const std::string log = gateway.log();
  for (const char* secret : {"jane.roe", "secret-tenant", "4000-0000", "s3cret"}) {
    EXPECT_EQ(log.find(secret), std::string::npos) << log;
  }
  for (const char c : log) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << log;
  const std::size_t first = log.find("\"record\":\"");
  ASSERT_NE(first, std::string::npos) << log;
  const std::string record = log.substr(first, 27);
  for (const char* event : {"\"claimed\"", "\"released\"", "\"refused\""}) {
    const std::size_t line = log.find("\"event\":" + std::string{event});
    ASSERT_NE(line, std::string::npos) << event << " in " << log;
    EXPECT_NE(log.substr(line, log.find('\n', line) - line).find(record), std::string::npos) << log;
  }
}

TEST(log, access_lines_can_be_left_out) {
  const scratch at;
  application behind;
  served gateway{{"--config", at.file("c.toml", config_text(behind, "[log]\naccess = false\n"))}};
  ask(gateway.port(), "GET", "/");
  gateway.stop();
  EXPECT_EQ(gateway.log().find("\"event\":\"request\""), std::string::npos);
}

}  // namespace
}  // namespace callonce::cli::test
