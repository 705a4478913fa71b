#include <cstdlib>

#include <gateway/config.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

constexpr const char* minimal = R"(upstream = "http://127.0.0.1:9000"
[scope]
from = "header:X-Api-Key"
)";

loaded_configuration load(const std::string& text) {
  return load_text(text, "c.toml", "/etc/callonce");
}

configuration accepted(const std::string& text) {
  const loaded_configuration read = load(text);
  for (const std::string& line : read.mistakes) ADD_FAILURE() << line;
  return read.value;
}

TEST(config, the_defaults_are_the_contract) {
  const configuration is = accepted(minimal);
  EXPECT_EQ(to_text(is.listen.at(0)), "127.0.0.1:8080");
  EXPECT_EQ(to_text(*is.admin), "127.0.0.1:9901");
  EXPECT_EQ(is.store.path, "/etc/callonce/callonce.db");
  EXPECT_EQ(is.store.timeout, 5s);
  EXPECT_EQ(is.limits.connections, 10000U);
  EXPECT_EQ(is.limits.header_bytes_max, 32768U);
  EXPECT_EQ(is.limits.header_timeout, 10s);
  EXPECT_EQ(is.limits.body_timeout, 30s);
  EXPECT_EQ(is.limits.idle_timeout, 75s);
  EXPECT_EQ(is.limits.connect_timeout, 2s);
  EXPECT_EQ(is.limits.upstream_connections, 256U);
  EXPECT_EQ(is.limits.upstream_idle_max, 3s);
  EXPECT_EQ(is.limits.buffered_bytes_max, 268435456U);
  EXPECT_EQ(is.limits.wait_slots, 1000U);
  EXPECT_EQ(is.limits.detached_slots, 256U);
  EXPECT_EQ(is.limits.drain, 55s);
  EXPECT_EQ(is.log.level, log_level::info);
  EXPECT_TRUE(is.log.json);
  EXPECT_TRUE(is.log.access);
  const policy_settings& policy = is.defaults.policy;
  EXPECT_EQ(policy.methods, (std::vector<std::string>{"POST", "PATCH"}));
  EXPECT_EQ(policy.key, key_demand::optional);
  EXPECT_EQ(policy.effects, effect_class::opaque);
  EXPECT_EQ(policy.lease, 60s);
  EXPECT_EQ(policy.timeout, 50s);
  EXPECT_EQ(policy.detached_max, 5min);
  EXPECT_EQ(policy.readback, 500ms);
  EXPECT_EQ(policy.retention, 24h);
  EXPECT_EQ(policy.key_retention, 168h);
  EXPECT_EQ(policy.released_retention, 1h);
  EXPECT_EQ(policy.wait, 0ms);
  EXPECT_EQ(policy.on_mismatch, 422);
  EXPECT_EQ(policy.on_in_progress, 409);
  EXPECT_FALSE(policy.park_on_lapse);
  EXPECT_EQ(policy.request_body_max, 67108864U);
  EXPECT_EQ(policy.response_body_max, 1048576U);
  EXPECT_EQ(policy.replay_headers_drop,
            (std::vector<std::string>{"Set-Cookie", "WWW-Authenticate", "Authentication-Info"}));
}

constexpr const char* whole_file = R"(
listen = ["127.0.0.1:0", "unix:run/c.sock"]
upstream = "unix:app.sock"
admin = ""
proxies = ["10.0.0.0/8", "unix"]
[store]
url = "sqlite:data/keys.db"
timeout = "2s"
[scope]
from = "trusted:X-User"
[limits]
connections = 5
header_bytes_max = "4KiB"
header_timeout = "1s"
body_timeout = "2s"
idle_timeout = "3s"
connect_timeout = "100ms"
upstream_connections = 6
upstream_idle_max = "4s"
buffered_bytes_max = "1MiB"
wait_slots = 7
detached_slots = 8
drain = "9s"
[log]
level = "debug"
format = "text"
access = false
[defaults]
class = "rerunnable"
methods = ["POST", "PUT"]
key = "required"
key_syntax = "strict"
lease = "10s"
timeout = "8s"
detached_max = "1m"
readback = "0s"
retention = "1h"
key_retention = "2h"
released_retention = "1m"
wait = "3s"
on_mismatch = 400
on_in_progress = 425
on_lapsed = "park"
problem_base = "https://errors.example/"
replay_headers_drop = []
request_body_max = "1MiB"
response_body_max = "2KiB"
outcome = { 429 = "final", 5xx = "keep" }
[[route]]
path = "/v1/{kind}/*"
name = "kinds"
upstream = "http://other:8000"
key = "off"
)";

TEST(config, every_key_of_the_process_is_taken) {
  const configuration is = accepted(whole_file);
  ASSERT_EQ(is.listen.size(), 2U);
  EXPECT_EQ(is.listen[1].path, "/etc/callonce/run/c.sock");
  EXPECT_EQ(is.upstream->path, "/etc/callonce/app.sock");
  EXPECT_FALSE(is.admin);
  EXPECT_TRUE(is.proxies.contains("10.9.9.9"));
  EXPECT_EQ(is.store.path, "/etc/callonce/data/keys.db");
  EXPECT_EQ(is.limits.connections, 5U);
  EXPECT_EQ(is.limits.drain, 9s);
  EXPECT_EQ(is.log.level, log_level::debug);
  EXPECT_FALSE(is.log.json);
  EXPECT_FALSE(is.log.access);
}

TEST(config, every_key_of_a_route_is_taken) {
  const configuration is = accepted(whole_file);
  const route_settings& route = is.routes.at(0);
  EXPECT_EQ(route.policy.name, "kinds");
  EXPECT_EQ(to_text(*route.upstream), "other:8000");
  EXPECT_EQ(route.policy.key, key_demand::off);
  EXPECT_EQ(route.policy.key_syntax, key_syntax::strict);
  EXPECT_EQ(route.policy.lease, 10s);
  EXPECT_EQ(route.policy.on_mismatch, 400);
  EXPECT_EQ(route.policy.on_in_progress, 425);
  EXPECT_TRUE(route.policy.park_on_lapse);
  EXPECT_TRUE(route.policy.replay_headers_drop.empty());
  EXPECT_EQ(route.policy.outcome.at(429), outcome_rule::complete);
  EXPECT_EQ(route.policy.outcome.at(5), outcome_rule::keep);
  EXPECT_EQ(route.policy.scope->text(), "trusted:X-User");
}

TEST(config, routes_inherit_the_defaults_wherever_these_stand) {
  const configuration is = accepted(std::string{minimal} + R"([[route]]
path = "/a"
lease = "20s"
timeout = "5s"
[[route]]
path = "/b"
[defaults]
lease = "30s"
timeout = "25s"
)");
  EXPECT_EQ(is.routes.at(0).policy.lease, 20s);
  EXPECT_EQ(is.routes.at(1).policy.lease, 30s);
  EXPECT_EQ(is.routes.at(1).policy.name, "/b");
  EXPECT_EQ(is.routes[0].origins.at("lease").from, origin::source::route);
  EXPECT_EQ(is.routes[0].origins.at("lease").line, 6U);
  EXPECT_EQ(is.routes[1].origins.at("lease").from, origin::source::defaults);
  EXPECT_EQ(is.routes[1].origins.count("wait"), 0U);
}

TEST(config, the_environment_fills_in_names) {
  ::setenv("CALLONCE_TEST_PORT", "9123", 1);
  const configuration is = accepted(
      "upstream = \"http://127.0.0.1:${CALLONCE_TEST_PORT}\"\n[scope]\nfrom = \"shared\"\n");
  EXPECT_EQ(is.upstream->port, 9123);
}

TEST(config, the_command_line_is_a_configuration_too) {
  const auto read = load_options({{"upstream", "http://127.0.0.1:9000"},
                                  {"scope.from", "header:X-Api-Key"},
                                  {"listen", "127.0.0.1:0"},
                                  {"store.url", "memory:"}});
  EXPECT_TRUE(read.mistakes.empty());
  EXPECT_TRUE(read.value.store.memory);
  EXPECT_EQ(read.value.origins.at("listen").from, origin::source::option);
  const auto server =
      load_options({{"store.url", "postgres://me:s3cret@db:5433/shop?password=s3cret&x=1"}});
  EXPECT_EQ(server.value.store.server, "postgres://me:s3cret@db:5433/shop?password=s3cret&x=1");
  EXPECT_EQ(server.value.store.shown(), "postgres://me:***@db:5433/shop?password=***&x=1");
  EXPECT_FALSE(server.value.store.rows);
  const auto wrong = load_options({{"upstream", "ftp://x"}});
  ASSERT_FALSE(wrong.mistakes.empty());
  EXPECT_EQ(wrong.mistakes[0].rfind("command line: upstream: ", 0), 0U) << wrong.mistakes[0];
}

struct wrong_row {
  const char* name;
  std::string text;
  const char* begin;  ///< How the line begins: file, line, key.
  const char* part;   ///< What it must say besides.
};

std::string with(const std::string& more) {
  return std::string{minimal} + more;
}

// Three lines come before what is given to `with`.
const std::vector<wrong_row> wrong_rows{
    {"syntax", with("[limits\n"), "c.toml:4: ", "not valid TOML"},
    {"doubled_key", with("[log]\nlevel = \"info\"\nlevel = \"info\"\n"), "c.toml:6: ", "TOML"},
    {"unknown_key", with("[defaults]\nleese = \"5s\"\n"), "c.toml:5: defaults.leese: unknown key",
     "did you mean 'lease'?"},
    {"unknown_route_key", with("[[route]]\npath = \"/a\"\nmetods = [\"POST\"]\n"),
     "c.toml:6: route.metods: unknown key", "'methods'"},
    {"key_elsewhere", with("[defaults]\ndrain = \"60s\"\n"),
     "c.toml:5: defaults.drain: unknown key", "[limits]"},
    {"key_not_built", with("[defaults]\nencrypt_bodies = true\n"),
     "c.toml:5: defaults.encrypt_bodies: unknown key", "--reference"},
    {"top_level_key", "upsteam = \"http://a\"\n", "c.toml:1: upsteam: unknown key", "'upstream'"},
    {"unknown_table", with("[limit]\nconnections = 5\n"), "c.toml:5: limit: unknown table",
     "[limits]"},
    {"route_as_table", with("[route]\npath = \"/a\"\n"), "c.toml:4: route: ", "[[route]]"},
    {"bare_duration", with("[defaults]\nlease = 60\n"),
     "c.toml:5: defaults.lease: 60 is no duration", "\"5s\""},
    {"strange_duration", with("[defaults]\nlease = \"1 minute\"\n"),
     "c.toml:5: defaults.lease: \"1 minute\" is no duration", "in quotes"},
    {"short_lease", with("[defaults]\nlease = \"1s\"\n"),
     "c.toml:5: defaults.lease: 1s is too short", "2s"},
    {"bare_size", with("[limits]\nheader_bytes_max = \"32K\"\n"),
     "c.toml:5: limits.header_bytes_max: \"32K\" is no size", "32KiB"},
    {"small_size", with("[limits]\nheader_bytes_max = \"10B\"\n"),
     "c.toml:5: limits.header_bytes_max: 10B is too small", "1KiB"},
    {"count_as_text", with("[limits]\nconnections = \"many\"\n"),
     "c.toml:5: limits.connections: \"many\" is not taken", "whole number"},
    {"count_too_small", with("[limits]\nconnections = 0\n"),
     "c.toml:5: limits.connections: 0 is not taken", "1 to"},
    {"negative_count", with("[limits]\nwait_slots = -1\n"),
     "c.toml:5: limits.wait_slots: -1 is not taken", "0 to"},
    {"fraction", with("[limits]\nconnections = 1.5\n"),
     "c.toml:5: limits.connections: ", "fractions"},
    {"boolean_as_text", with("[log]\naccess = \"yes\"\n"),
     "c.toml:5: log.access: \"yes\" is not taken", "true or false"},
    {"strange_word", with("[defaults]\nclass = \"exactly-once\"\n"),
     "c.toml:5: defaults.class: \"exactly-once\" is not taken", "opaque | rerunnable | atomic"},
    {"strange_status", with("[defaults]\non_mismatch = 418\n"),
     "c.toml:5: defaults.on_mismatch: 418 is not taken", "422 | 400 | 409"},
    {"no_method", with("[defaults]\nmethods = []\n"),
     "c.toml:5: defaults.methods: the list is empty", "key = \"off\""},
    {"small_method", with("[defaults]\nmethods = [\"post\"]\n"),
     "c.toml:5: defaults.methods: \"post\"", "POST"},
    {"number_in_list", with("[defaults]\nmethods = [1]\n"),
     "c.toml:5: defaults.methods: ", "texts in quotes"},
    {"strange_outcome", with("[defaults]\noutcome = { 5xx = \"replay\" }\n"),
     "c.toml:5: defaults.outcome: 5xx", "final | release | keep"},
    {"outcome_of_no_status", with("[defaults]\noutcome = { 99 = \"final\" }\n"),
     "c.toml:5: defaults.outcome: \"99\" is no status", "2xx to 5xx"},
    {"strange_problem_base", with("[defaults]\nproblem_base = \"no uri\"\n"),
     "c.toml:5: defaults.problem_base: ", "URI"},
    {"no_scope", "upstream = \"http://a\"\n", "c.toml: scope.from: is missing", "header:X-Api-Key"},
    {"strange_scope", "upstream = \"http://a\"\n[scope]\nfrom = \"query:user\"\n",
     "c.toml:3: scope.from: ", "header:NAME"},
    {"scope_list_with_shared",
     "upstream = \"http://a\"\n[scope]\nfrom = [\"shared\", \"header:X\"]\n",
     "c.toml:3: scope.from: scope rule 'shared' stands alone", "leave the others"},
    {"empty_scope_list", "upstream = \"http://a\"\n[scope]\nfrom = []\n",
     "c.toml:3: scope.from: ", "at least one source"},
    {"scope_number", "upstream = \"http://a\"\n[scope]\nfrom = 5\n",
     "c.toml:3: scope.from: is no rule", "header:X-Api-Key"},
    {"trusted_without_hops", "upstream = \"http://a\"\n[scope]\nfrom = \"trusted:X-User\"\n",
     "c.toml:3: scope.from: trusted:X-User", "proxies"},
    {"no_upstream", "[scope]\nfrom = \"shared\"\n", "c.toml: upstream: is missing", "http://"},
    {"tls_upstream", "upstream = \"https://a\"\n[scope]\nfrom = \"shared\"\n",
     "c.toml:1: upstream: ", "TLS ends in front"},
    {"own_upstream",
     "listen = \"127.0.0.1:80\"\nupstream = \"http://127.0.0.1\"\n[scope]\nfrom = \"shared\"\n",
     "c.toml:2: upstream: is the gateway's own listener", "application"},
    {"strange_listener", "listen = \"8080\"\n" + with(""),
     "c.toml:1: listen: '8080' is no listener", "ADDRESS:PORT"},
    {"equal_listeners", "listen = [\"0.0.0.0:80\", \"127.0.0.1:80\"]\n" + with(""),
     "c.toml:1: listen: 127.0.0.1:80 and 0.0.0.0:80", "remove one"},
    {"public_admin", "listen = \"0.0.0.0:80\"\nadmin = \"127.0.0.1:80\"\n" + with(""),
     "c.toml:2: admin: is on the public address", "of its own"},
    {"strange_hop", "proxies = [\"lb.internal\"]\n" + with(""),
     "c.toml:1: proxies: ", "ADDRESS/BITS"},
    {"strange_store", with("[store]\nurl = \"mysql://me:s3cret@db\"\n"),
     "c.toml:5: store.url: this is no store", "sqlite:PATH"},
    {"unset_name", with("[store]\nurl = \"sqlite:${CALLONCE_TEST_UNSET}\"\n"),
     "c.toml:5: store.url: the environment has no CALLONCE_TEST_UNSET", "set it"},
    {"open_name", with("[store]\nurl = \"sqlite:${HOME\"\n"), "c.toml:5: store.url: ", "${NAME}"},
    {"short_drain", with("[limits]\ndrain = \"50s\"\n"),
     "c.toml:5: limits.drain: 50s is not longer than the longest timeout, 50s of defaults",
     "raise"},
    {"short_drain_of_route",
     with("[[route]]\npath = \"/slow\"\ntimeout = \"2m\"\nlease = \"3m\"\n"),
     "c.toml: limits.drain: 55s is not longer than the longest timeout, 2m of route /slow",
     "raise"},
    {"short_key_retention", with("[defaults]\nretention = \"8d\"\n"),
     "c.toml:5: defaults: key_retention 7d is below retention 8d", "raise"},
    {"route_without_path", with("[[route]]\nkey = \"required\"\n"), "c.toml:4: route: has no path",
     "path ="},
    {"strange_path", with("[[route]]\npath = \"v1\"\n"), "c.toml:5: route.path: 'v1'", "/v1/"},
    {"star_inside", with("[[route]]\npath = \"/a/*/b\"\n"), "c.toml:5: route.path: ", "last"},
    {"equal_shapes", with("[[route]]\npath = \"/a/{x}\"\n[[route]]\npath = \"/a/{y}\"\n"),
     "c.toml:7: route.path: /a/{y} matches the same requests as /a/{x} in line 5", "remove"},
    {"strange_name", with("[[route]]\npath = \"/a\"\nname = \"\"\n"),
     "c.toml:6: route.name: ", "printable"},
};

class wrong_config : public testing::TestWithParam<wrong_row> {};

TEST_P(wrong_config, is_one_line_that_says_where_what_and_what_to_do) {
  const wrong_row& row = GetParam();
  const loaded_configuration read = load(row.text);
  ASSERT_EQ(read.mistakes.size(), 1U)
      << (read.mistakes.empty() ? "" : read.mistakes[0] + "\n" + read.mistakes.back());
  const std::string& line = read.mistakes[0];
  EXPECT_EQ(line.rfind(row.begin, 0), 0U) << line;
  EXPECT_NE(line.find(row.part), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

INSTANTIATE_TEST_SUITE_P(config, wrong_config, testing::ValuesIn(wrong_rows),
                         [](const auto& row) { return std::string{row.param.name}; });

TEST(config, every_mistake_of_a_file_is_told_in_its_order) {
  const auto read = load("listen = \"x\"\nupstream = \"y\"\n[defaults]\nlease = \"z\"\nbad = 1\n");
  ASSERT_EQ(read.mistakes.size(), 4U);
  EXPECT_EQ(read.mistakes[0].rfind("c.toml:1:", 0), 0U);
  EXPECT_EQ(read.mistakes[1].rfind("c.toml:2:", 0), 0U);
  EXPECT_EQ(read.mistakes[2].rfind("c.toml:4:", 0), 0U);
  EXPECT_EQ(read.mistakes[3].rfind("c.toml:5:", 0), 0U);
}

TEST(config, a_file_that_cannot_be_read_is_one_line) {
  const auto read = load_file("/nonexistent/callonce.toml");
  ASSERT_EQ(read.mistakes.size(), 1U);
  EXPECT_NE(read.mistakes[0].find("/nonexistent/callonce.toml: cannot be read"), std::string::npos);
  EXPECT_EQ(load_file("/").mistakes.size(), 1U);
}

struct warned_row {
  const char* name;
  std::string text;
  const char* line;
  const char* part;
};
const std::vector<warned_row> warned_rows{
    // C85: a store of one process behind a load balancer.
    {"memory_store", with("[store]\nurl = \"memory:\"\n"), "c.toml:5: store.url", "development"},
    {"statements_of_a_file", with("[store]\nstatements = \"rows\"\n"), "c.toml:5: store.statements",
     "postgres://"},
    {"shared_scope", "upstream = \"http://a\"\n[scope]\nfrom = \"shared\"\n",
     "c.toml:3: scope.from", "read each other's answers"},
    {"unused_token_key", with("jwt_issuer = \"https://id.example\"\n"),
     "c.toml:4: scope.jwt_issuer", "tokens are not looked at"},
    {"opaque_timeout", with("[defaults]\nlease = \"5s\"\n"), "c.toml:5: defaults: timeout 50s",
     "beyond lease 5s"},
    {"opaque_timeout_of_route",
     with("[[route]]\npath = \"/long\"\nlease = \"3s\"\ntimeout = \"33s\"\n"),
     "c.toml:7: route /long: timeout 33s", "lease"},
    {"admin_beyond_the_host", "admin = \"0.0.0.0:9901\"\n" + with(""), "c.toml:1: admin",
     "other hosts"},
};
class warned_config : public testing::TestWithParam<warned_row> {};
TEST_P(warned_config, is_usable_and_says_what_is_unwise) {
  const auto read = load(GetParam().text);
  EXPECT_TRUE(read.mistakes.empty());
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0].rfind(GetParam().line, 0), 0U) << read.warnings[0];
  EXPECT_NE(read.warnings[0].find(GetParam().part), std::string::npos) << read.warnings[0];
}
INSTANTIATE_TEST_SUITE_P(config, warned_config, testing::ValuesIn(warned_rows),
                         [](const auto& row) { return std::string{row.param.name}; });

TEST(config, a_timeout_beyond_the_lease_is_no_matter_where_running_again_is_harmless) {
  EXPECT_TRUE(load(with("[defaults]\nlease = \"5s\"\nclass = \"rerunnable\"\n")).warnings.empty());
}

}  // namespace
}  // namespace callonce::gateway
