// conform: the conformance tester. It starts gateways and the effect application and runs the rows.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <string_view>

#include <conform/runner.hpp>
#include <unistd.h>

namespace {

constexpr std::string_view usage =
    R"(usage: conform --callonce PROGRAM [--effect-app PROGRAM] [--new-store PROGRAM]
               [--only PREFIX]… [--deep]
       conform --list

Runs every row against gateways of its own and prints one line a row.
  --callonce PROGRAM    the gateway to test
  --effect-app PROGRAM  the application behind it; default: effect_app beside this program
  --new-store PROGRAM   makes the gateways' stores: called with a name, it prints a URL; without
                        it they are SQLite files
  --only PREFIX         only rows whose id begins so; may be given again
  --deep                the long form of the rows that have one
  --list                print ids and sentences, run nothing
Exit code: 0 every row that ran passed, 1 some did not, 2 could not run.
)";

std::filesystem::path own_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

bool parse(int count, char** given, conform::run_options& options, bool& list) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = given[i];
    const bool more = i + 1 < count;
    if (name == "--list") {
      list = true;
    } else if (name == "--deep") {
      options.deep = true;
    } else if (name == "--callonce" && more) {
      options.callonce = std::filesystem::absolute(given[++i]);
    } else if (name == "--effect-app" && more) {
      options.effect_app = std::filesystem::absolute(given[++i]);
    } else if (name == "--new-store" && more) {
      options.new_store = std::filesystem::absolute(given[++i]);
    } else if (name == "--only" && more) {
      options.only.emplace_back(given[++i]);
    } else {
      return false;
    }
  }
  return list || !options.callonce.empty();
}

}  // namespace

int main(int count, char** given) {
  conform::run_options options;
  options.effect_app = own_directory() / "effect_app";
  bool list = false;
  if (!parse(count, given, options, list)) {
    std::cerr << usage;
    return 2;
  }
  if (list) {
    conform::list_rows(std::cout);
    return 0;
  }
  // Inherited by the gateways: a write beyond a file size limit fails instead of ending them.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return conform::run_rows(options, std::cout);
  } catch (const std::exception& problem) {
    std::cerr << "conform: " << problem.what() << '\n';
    return 2;
  }
}
