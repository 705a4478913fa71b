#include <fstream>
#include <sstream>

#include <cli/test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::cli::test {
namespace {

constexpr const char* good = R"(upstream = "http://127.0.0.1:9000"
[scope]
from = "header:X-Api-Key"
[defaults]
lease = "70s"
[[route]]
path = "/v1/charges/{id}/capture"
key = "required"
)";

bool one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

TEST(cli, help_teaches_every_verb) {
  const ended top = run({"--help"});
  EXPECT_EQ(top.code, 0);
  for (const char* part :
       {"serve", "check", "keys", "purge", "curl", "docs/start.md", "Exit codes"}) {
    EXPECT_NE(top.out.find(part), std::string::npos) << part;
  }
  for (const std::vector<std::string>& verb :
       {lines{"serve"}, lines{"check"}, lines{"keys"}, lines{"purge"}}) {
    lines words = verb;
    words.push_back("--help");
    const ended help = run(words);
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Example"), std::string::npos) << verb[0];
    EXPECT_NE(help.out.find("Exit code"), std::string::npos) << verb[0];
  }
  EXPECT_NE(run({"check", "--help"}).out.find("defaults.lease"), std::string::npos);
}

TEST(cli, version_is_one_line) {
  const ended said = run({"--version"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out.rfind("callonce ", 0), 0U);
  EXPECT_TRUE(one_line(said.out));
}

TEST(cli, what_is_misspelled_ends_with_1) {
  const ended verb = run({"sevre"});
  EXPECT_EQ(verb.code, 1);
  EXPECT_TRUE(one_line(verb.err)) << verb.err;
  EXPECT_NE(verb.err.find("'sevre' is no verb"), std::string::npos);
  EXPECT_EQ(run({}).code, 1);
  EXPECT_EQ(run({"serve", "--upsteam", "http://a"}).code, 1);
  EXPECT_EQ(run({"keys"}).code, 1);
  EXPECT_EQ(run({"keys", "list"}).code, 1);
  EXPECT_EQ(run({"check"}).code, 1);
  const scratch at;
  EXPECT_EQ(run({"serve", "--config", at.file("c.toml", good), "--listen", "127.0.0.1:0"}).code, 1);
}

TEST(cli, check_says_what_a_good_file_means) {
  const scratch at;
  const ended said = run({"check", "--config", at.file("c.toml", good)});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("/v1/charges/{id}/capture"), std::string::npos);
  EXPECT_NE(said.out.find("(all others)"), std::string::npos);
  EXPECT_NE(said.out.find("built in"), std::string::npos);
  EXPECT_NE(said.out.find("can be served"), std::string::npos);
}

TEST(cli, check_tells_every_mistake_on_standard_error_and_ends_with_1) {
  const scratch at;
  const std::string file = at.file("c.toml", std::string{good} + "lease = \"1s\"\nwat = 1\n");
  const ended said = run({"check", "--config", file});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out, "");
  EXPECT_NE(said.err.find(file + ":9: route.lease: 1s is too short"), std::string::npos)
      << said.err;
  EXPECT_NE(said.err.find(file + ":10: route.wat: unknown key"), std::string::npos) << said.err;
  EXPECT_EQ(run({"check", "--config", (at / "none.toml").string()}).code, 1);
}

TEST(cli, check_shows_a_requests_route_and_where_each_setting_comes_from) {
  const scratch at;
  const std::string file = at.file("c.toml", good);
  const ended said =
      run({"check", "--config", file, "--request", "POST /v1/charges/7/capture?x=1"});
  EXPECT_EQ(said.code, 0) << said.err;
  const auto line_with = [&](const std::string& word) {
    const std::size_t found = said.out.find("\n  " + word + " ");
    if (found == std::string::npos) return std::string{};
    return said.out.substr(found + 1, said.out.find('\n', found + 1) - found - 1);
  };
  EXPECT_NE(line_with("route").find("/v1/charges/{id}/capture (route, line 7)"), std::string::npos);
  EXPECT_NE(line_with("key").find("route, line 8"), std::string::npos) << said.out;
  EXPECT_NE(line_with("lease").find("defaults, line 5"), std::string::npos) << said.out;
  EXPECT_NE(line_with("wait").find("built in"), std::string::npos) << said.out;
  EXPECT_NE(line_with("scope.from").find("line 3"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("answered 400"), std::string::npos);
  EXPECT_NE(
      run({"check", "--config", file, "--request", "GET /x"}).out.find("no route: the defaults"),
      std::string::npos);
  EXPECT_EQ(run({"check", "--config", file, "--request", "/x"}).code, 1);
}

TEST(cli, check_prints_the_reference_page) {
  std::ifstream page(CALLONCE_SOURCE_DIR "/docs/reference/config.md");
  std::ostringstream text;
  text << page.rdbuf();
  EXPECT_EQ(run({"check", "--reference"}).out, text.str());
}

TEST(cli, serve_without_the_obligatory_keys_says_both) {
  const ended said = run({"serve"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("scope.from: is missing"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("upstream: is missing"), std::string::npos) << said.err;
}

// The documentation names every exit code that the help names.
TEST(cli, the_reference_page_of_the_command_line_has_every_verb_and_option) {
  std::ifstream page(CALLONCE_SOURCE_DIR "/docs/reference/cli.md");
  std::ostringstream text;
  text << page.rdbuf();
  for (const std::vector<std::string>& verb :
       {lines{"serve"}, lines{"check"}, lines{"keys", "list"}, lines{"keys", "show"},
        lines{"keys", "release"}, lines{"keys", "settle"}, lines{"purge"}}) {
    lines words = verb;
    words.push_back("--help");
    std::istringstream help{run(words).out};
    for (std::string word; help >> word;) {
      if (word.rfind("--", 0) != 0 || word.size() == 2 || word == "--help") continue;
      word = word.substr(0, word.find_first_of(",.;:)"));
      EXPECT_NE(text.str().find(word), std::string::npos) << verb.back() << " " << word;
    }
  }
}

}  // namespace
}  // namespace callonce::cli::test
