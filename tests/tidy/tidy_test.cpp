// The house's own rules, read from its files: layers, sizes, banned calls, tests that nobody
// builds.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path root{CALLONCE_SOURCE_DIR};

struct source {
  std::string path;
  std::string text;
  std::vector<std::string> lines;
};

std::string read(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

bool is_ours(const fs::path& relative) {
  static const std::set<std::string> rooms{"callonce", "gateway", "conform", "cli",  "examples",
                                           "bench",    "tests",   "cmake",   "docs", ".ci"};
  return rooms.contains(relative.begin()->string()) ||
         std::distance(relative.begin(), relative.end()) == 1;
}

const std::vector<source>& sources() {
  static const std::vector<source> all = [] {
    std::vector<source> found;
    for (auto at = fs::recursive_directory_iterator{root}; at != fs::end(at); ++at) {
      const fs::path relative = fs::relative(at->path(), root);
      const std::string first = relative.begin()->string();
      if (first == "build" || first == ".git" || relative.filename() == "node_modules") {
        at.disable_recursion_pending();
        continue;
      }
      if (!at->is_regular_file() || !is_ours(relative)) continue;
      source each{relative.string(), read(at->path()), {}};
      std::istringstream lines{each.text};
      for (std::string line; std::getline(lines, line);) each.lines.push_back(line);
      found.push_back(std::move(each));
    }
    return found;
  }();
  return all;
}

bool is_code(const source& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp");
}

bool is_in(const source& file, std::string_view room) {
  return file.path.starts_with(room);
}

std::string at(const source& file, std::size_t line) {
  return file.path + ":" + std::to_string(line + 1);
}

// What each room may include of this tree; everything that starts with one of these.
const std::map<std::string, std::vector<std::string>>& layers() {
  static const std::map<std::string, std::vector<std::string>> may{
      {"callonce/core/", {"callonce/core/"}},
      {"callonce/engine/", {"callonce/core/", "callonce/engine/"}},
      {"callonce/stores/group_commit/",
       {"callonce/core/", "callonce/engine/store.hpp", "callonce/engine/environment.hpp",
        "callonce/engine/completion.hpp", "callonce/engine/claim.hpp",
        "callonce/stores/group_commit/"}},
      {"callonce/stores/memory/",
       {"callonce/core/", "callonce/engine/store.hpp", "callonce/engine/environment.hpp",
        "callonce/engine/completion.hpp", "callonce/engine/claim.hpp", "callonce/stores/memory/"}},
      {"callonce/stores/sqlite/",
       {"callonce/core/", "callonce/engine/store.hpp", "callonce/engine/environment.hpp",
        "callonce/engine/completion.hpp", "callonce/engine/claim.hpp",
        "callonce/stores/group_commit/", "callonce/stores/sqlite/"}},
      {"callonce/stores/postgres/",
       {"callonce/core/", "callonce/engine/store.hpp", "callonce/engine/environment.hpp",
        "callonce/engine/completion.hpp", "callonce/engine/claim.hpp",
        "callonce/stores/group_commit/", "callonce/stores/postgres/"}},
      {"callonce/adapters/beast/",
       {"callonce/core/", "callonce/engine/", "callonce/adapters/beast/"}},
      {"callonce/testkit/", {"callonce/core/", "callonce/engine/", "callonce/testkit/"}},
      {"conform/", {"conform/"}},
  };
  return may;
}

TEST(tidy, rooms_include_only_the_layers_below_them) {
  const std::regex include{
      R"(^\s*#include\s+[<"]((callonce|gateway|cli|conform|bench|tests)/[^>"]+)[>"])"};
  for (const source& file : sources()) {
    if (!is_code(file) || file.path.ends_with("_test.cpp")) continue;
    for (const auto& [room, allowed] : layers()) {
      if (!is_in(file, room)) continue;
      for (std::size_t line = 0; line < file.lines.size(); ++line) {
        std::smatch found;
        if (!std::regex_search(file.lines[line], found, include)) continue;
        const std::string target = found[1];
        const bool fine = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& part) {
          return target.starts_with(part);
        });
        EXPECT_TRUE(fine) << at(file, line) << ": " << room << " may not include " << target;
      }
    }
  }
}

TEST(tidy, the_library_never_includes_gateway_or_command_line) {
  const std::regex include{R"(^\s*#include\s+[<"](gateway|cli|conform)/)"};
  for (const source& file : sources()) {
    if (!is_code(file) || !is_in(file, "callonce/")) continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      EXPECT_FALSE(std::regex_search(file.lines[line], include)) << at(file, line);
    }
  }
}

TEST(tidy, heavy_headers_stay_where_they_belong) {
  const std::vector<std::pair<std::regex, std::regex>> rules{
      {std::regex{R"(^#include <boost/asio)"}, std::regex{R"(^callonce/core/)"}},
      {std::regex{R"(^#include <(openssl/|boost/json|zstd))"},
       std::regex{R"(^callonce/core/.*\.hpp$)"}},
      {std::regex{R"(^#include <(sqlite3|libpq-fe)\.h>)"}, std::regex{R"(\.hpp$)"}},
      {std::regex{R"(^#include <boost/beast)"},
       std::regex{R"(^(?!callonce/adapters/beast/|gateway/.*\.cpp$|examples/|bench/))"}},
      {std::regex{R"(^#include <boost/beast)"}, std::regex{R"(^gateway/.*\.hpp$|_test\.cpp$)"}},
      {std::regex{R"(^#include <(toml\+\+|CLI|spdlog|prometheus))"}, std::regex{R"(^callonce/)"}},
  };
  for (const source& file : sources()) {
    if (!is_code(file)) continue;
    for (const auto& [header, place] : rules) {
      if (!std::regex_search(file.path, place)) continue;
      for (std::size_t line = 0; line < file.lines.size(); ++line) {
        EXPECT_FALSE(std::regex_search(file.lines[line], header))
            << at(file, line) << ": " << file.lines[line];
      }
    }
  }
}

TEST(tidy, time_sleep_and_randomness_come_through_environment) {
  const std::regex banned{R"((steady_clock|system_clock)::now\(|\bsleep_for\b|\bsleep_until\(std|)"
                          R"(\busleep\(|\brand\(|random_device|getrandom|steady_timer)"};
  // A store's own threads may sleep, at one place, where a lock has no event to wait for.
  const std::regex doors{R"(^callonce/(engine/system_environment\.cpp|testkit/)|_test\.cpp$|)"
                         R"(^callonce/stores/group_commit/pause\.cpp$|/loopback\.hpp$)"};
  for (const source& file : sources()) {
    if (!is_code(file) || !is_in(file, "callonce/") || std::regex_search(file.path, doors))
      continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      EXPECT_FALSE(std::regex_search(file.lines[line], banned))
          << at(file, line) << ": " << file.lines[line];
    }
  }
}

TEST(tidy, files_lines_and_functions_have_a_bound) {
  constexpr std::size_t file_lines_max = 400;
  constexpr std::size_t columns_max = 100;
  constexpr std::size_t function_lines_max = 70;
  for (const source& file : sources()) {
    if (!is_code(file)) continue;
    EXPECT_LE(file.lines.size(), file_lines_max) << file.path << ": which second thing does it do?";
    std::size_t opened = 0;
    bool open = false;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::string& text = file.lines[line];
      const auto columns = std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      });
      EXPECT_LE(static_cast<std::size_t>(columns), columns_max) << at(file, line);
      // clang-format puts the braces of a function at namespace scope in the first column.
      const bool starts = !text.empty() && text[0] != ' ' && text[0] != '}' &&
                          text.ends_with('{') && text.find("namespace") == std::string::npos &&
                          text.find('(') != std::string::npos;
      if (starts) {
        opened = line;
        open = true;
      } else if (open && text.starts_with("}")) {
        EXPECT_LE(line - opened, function_lines_max) << at(file, opened) << ": a long function";
        open = false;
      }
    }
  }
}

TEST(tidy, nothing_is_left_over) {
  // Spelled apart so that this file does not find itself.
  const std::regex left_over{
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b|DISA"
      "BLED_|GTEST_SK"
      "IP\\(\\)\\s*;"};
  for (const source& file : sources()) {
    if (!is_code(file) && !file.path.ends_with(".mjs") && !file.path.ends_with(".md")) continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      EXPECT_FALSE(std::regex_search(file.lines[line], left_over))
          << at(file, line) << ": " << file.lines[line];
    }
  }
}

TEST(tidy, every_source_is_built) {
  std::string lists;
  for (const source& file : sources()) {
    if (fs::path{file.path}.filename() == "CMakeLists.txt" || file.path.ends_with(".cmake")) {
      lists += file.text;
    }
  }
  for (const source& file : sources()) {
    // Programs that are built outside the tree, by the package test, name their sources there.
    if (!file.path.ends_with(".cpp")) continue;
    const std::string name = fs::path{file.path}.filename().string();
    const std::regex listed{"(^|[\\s/(])" + std::regex_replace(name, std::regex{R"(\.)"}, "\\.") +
                            "($|[\\s)])"};
    EXPECT_TRUE(std::regex_search(lists, listed)) << file.path << " is in no CMakeLists.txt";
  }
}

TEST(tidy, public_headers_say_what_they_are_for) {
  const std::regex declares{R"(^(class|struct|enum class) \w+.*\{)"};
  for (const source& file : sources()) {
    if (!file.path.ends_with(".hpp") || !is_in(file, "callonce/")) continue;
    if (file.path.ends_with("runs.hpp")) continue;
    for (std::size_t line = 1; line < file.lines.size(); ++line) {
      if (!std::regex_search(file.lines[line], declares)) continue;
      const std::string& above = file.lines[line - 1];
      EXPECT_TRUE(above.starts_with("///") || above.starts_with("//") ||
                  above.starts_with("template"))
          << at(file, line) << ": " << file.lines[line];
    }
  }
}

// g++ 12 traps where a coroutine awaits inside the condition itself: the result is named first.
TEST(tidy, no_condition_awaits) {
  const std::regex awaits{R"(\b(if|while) \((!|[^();=]*[&|!] ?)?co_await )"};
  for (const source& file : sources()) {
    if (!is_code(file)) continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      EXPECT_FALSE(std::regex_search(file.lines[line], awaits))
          << at(file, line) << ": " << file.lines[line];
    }
  }
}

TEST(tidy, cited_ids_are_explained_in_the_repository) {
  const std::string known =
      read(root / "docs/internals/semantics.md") + read(root / "docs/internals/cases.md");
  // In test names an id is joined by an underscore, in comments and documents it stands alone.
  const std::regex in_prose{R"((?:^|[^A-Za-z0-9])([PMRFCSLXATGKIO]-\d{2}|P[ISAUBR]-\d{2}|D-\d{2}|)"
                            R"(D-(?:PG|SQ|RD|MY)\d|C\d{2,3})(?=[^A-Za-z0-9]))"};
  std::set<std::string> unknown;
  for (const source& file : sources()) {
    if (!is_code(file)) continue;
    for (auto found = std::sregex_iterator{file.text.begin(), file.text.end(), in_prose};
         found != std::sregex_iterator{}; ++found) {
      const std::string id = (*found)[1];
      if (known.find("**" + id + "**") == std::string::npos &&
          known.find("| " + id + " |") == std::string::npos)
        unknown.insert(id + " in " + file.path);
    }
  }
  for (const std::string& each : unknown) ADD_FAILURE() << each << " is not in docs/internals";
}

TEST(tidy, the_readme_is_short) {
  for (const source& file : sources()) {
    if (file.path != "README.md") continue;
    EXPECT_LE(file.lines.size(), 120U);
  }
}

}  // namespace
