// docs/internals/cases.md says for each fault that was seen elsewhere which tests show that it is
// not here: made from the names of tests and rows, and compared.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path root{CALLONCE_SOURCE_DIR};
const fs::path page = root / "docs/internals/cases.md";

std::string read(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

using matches = std::sregex_iterator;

// What each case is about, as the page has it.
std::map<int, std::string> statements(const std::string& text) {
  std::map<int, std::string> made;
  const std::regex line{R"(\| C(\d+) \| ([^|\n]+) \|)"};
  for (auto found = matches{text.begin(), text.end(), line}; found != matches{}; ++found) {
    made[std::stoi((*found)[1])] = (*found)[2];
  }
  return made;
}

std::string word_of(const std::string& ids) {
  return ids.substr(0, ids.find(' '));
}

// The tests and rows that have a case's id in their name.
std::map<int, std::set<std::string>> names() {
  std::map<int, std::set<std::string>> made;
  const std::regex test{R"(TEST(?:_F|_P)?\((\w+), (\w+)\))"};
  const std::regex row{R"((\n    row\{|skipped_row\()\"([A-Z]+-?\d+[^\"]*)\")"};
  const std::regex exam{R"(\{\"(C\d{2,3}_\w+)\",)"};
  const std::regex id{R"(C(\d{2,3})(?!\d))"};
  for (const char* folder : {"callonce", "gateway", "cli", "conform", "tests", "examples"}) {
    for (const auto& file : fs::recursive_directory_iterator{root / folder}) {
      if (file.path().extension() != ".cpp") continue;
      const std::string text = read(file.path());
      for (auto found = matches{text.begin(), text.end(), test}; found != matches{}; ++found) {
        const std::string name = (*found)[2];
        for (auto one = matches{name.begin(), name.end(), id}; one != matches{}; ++one) {
          made[std::stoi((*one)[1])].insert("`" + (*found)[1].str() + "." + name + "`");
        }
      }
      for (auto found = matches{text.begin(), text.end(), row}; found != matches{}; ++found) {
        const bool skipped = (*found)[1].str().find("skipped") != std::string::npos;
        const std::string ids = (*found)[2];
        const std::string own = ids.starts_with('C') && ids[1] != '-' ? "" : " " + word_of(ids);
        for (auto one = matches{ids.begin(), ids.end(), id}; one != matches{}; ++one) {
          made[std::stoi((*one)[1])].insert(skipped ? "row, skipped with its reason" : "row" + own);
        }
      }
      for (auto found = matches{text.begin(), text.end(), exam}; found != matches{}; ++found) {
        const std::string name = (*found)[1];
        for (auto one = matches{name.begin(), name.end(), id}; one != matches{}; ++one) {
          made[std::stoi((*one)[1])].insert("store exam `" + name + "`");
        }
      }
    }
  }
  return made;
}

std::string expected(const std::map<int, std::string>& about,
                     const std::map<int, std::set<std::string>>& shown) {
  std::string made =
      "<!-- Made by `./dev docs` from the names of tests and rows; a test compares. -->\n"
      "# Cases\n\n"
      "Faults that were seen elsewhere and must not come back here. *row* is a row of\n"
      "`./dev conform` under the case's id or the one that is named; the *store exam* runs over "
      "every\n"
      "store. A case without a name is cited where it is tested.\n\n"
      "| Case | The fault | Shown by |\n|---|---|---|\n";
  for (const auto& [number, statement] : about) {
    const std::string id = (number < 10 ? "C0" : "C") + std::to_string(number);
    made.append("| ").append(id).append(" | ").append(statement).append(" | ");
    std::string all;
    if (const auto found = shown.find(number); found != shown.end()) {
      for (const std::string& name : found->second) {
        all.append(all.empty() ? "" : ", ").append(name);
      }
    }
    made.append(all).append(" |\n");
  }
  return made;
}

TEST(tidy, the_page_of_cases_is_made_from_names) {
  const std::string text = read(page);
  const auto about = statements(text);
  const auto shown = names();
  for (const auto& [number, of] : shown) {
    EXPECT_EQ(about.count(number), 1U) << "C" << number << ", named by " << *of.begin()
                                       << ", has no statement in docs/internals/cases.md";
  }
  const std::string wanted = expected(about, shown);
  if (std::getenv("CALLONCE_WRITE_DOCS") != nullptr) {
    std::ofstream{page, std::ios::binary} << wanted;
    return;
  }
  EXPECT_EQ(text, wanted) << "run ./dev docs";
}

}  // namespace
