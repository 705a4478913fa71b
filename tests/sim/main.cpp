#include <charconv>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "tests/sim/simulation.hpp"

namespace {

using callonce::sim::simulation;
using clock_type = std::chrono::steady_clock;

struct options {
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  std::string_view world = "mixed";
  std::string_view twin;
  bool until_found = false;  ///< Ends with 0 as soon as a rule is broken.
  bool history = false;
};

constexpr std::string_view usage =
    "callonce-sim [--seeds N] [--from S] [--world NAME] [--twin NAME] [--until-found] [--history]\n"
    "  --seeds N      how many worlds (default 1000), one for each seed from --from on\n"
    "  --from S       the first seed (default 1); one seed reproduces one world exactly\n"
    "  --world NAME   mixed (default), calm, storm, lost_replies, zombies, held\n"
    "  --twin NAME    a store broken on purpose; exit 0 when the fault is found\n"
    "  --until-found  the same for a simulator that is itself broken on purpose\n"
    "  --history      print the whole history of each failing world\n";

bool read(std::string_view text, std::uint64_t& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  return fault == std::errc{} && end == text.data() + text.size();
}

bool parse(int count, char** words, options& into) {
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (word == "--until-found") {
      into.until_found = true;
      continue;
    }
    if (word == "--history") {
      into.history = true;
      continue;
    }
    if (++at == count) return false;
    const std::string_view value = words[at];
    if (word == "--seeds") {
      if (!read(value, into.seeds)) return false;
    } else if (word == "--from") {
      if (!read(value, into.from)) return false;
    } else if (word == "--world") {
      into.world = value;
    } else if (word == "--twin") {
      into.twin = value;
      into.until_found = true;
    } else {
      return false;
    }
  }
  return true;
}

// Runs a failing world once more, with its history.
void explain(std::uint64_t seed, const options& by) {
  constexpr std::size_t lines_max = 80;
  simulation again{seed, by.world, by.twin};
  again.keep_history();
  again.run();
  std::cout << "seed " << seed << " (" << again.drawn().name << " world)\n";
  const auto& lines = again.history();
  const std::size_t skipped =
      by.history || lines.size() <= lines_max ? 0 : lines.size() - lines_max;
  if (skipped > 0) std::cout << "  … " << skipped << " earlier lines (--history shows them)\n";
  for (std::size_t at = skipped; at < lines.size(); ++at) std::cout << "  " << lines[at] << '\n';
  for (const std::string& rule : again.broken()) std::cout << "  broken: " << rule << '\n';
}

int run(const options& by) {
  std::map<std::string, std::uint64_t>
      rules;  // Each broken one, with the first seed that breaks it.
  std::uint64_t failed = 0;
  std::uint64_t done = 0;
  std::uint64_t steps = 0;
  const auto began = clock_type::now();
  auto told = began;
  const auto rate = [&] {
    const std::chrono::duration<double> spent = clock_type::now() - began;
    return static_cast<std::uint64_t>(static_cast<double>(done) / spent.count());
  };
  for (std::uint64_t seed = by.from; seed < by.from + by.seeds; ++seed) {
    simulation one{seed, by.world, by.twin};
    const bool held = one.run();
    ++done;
    steps += one.steps();
    if (!held) {
      ++failed;
      // A rule that is new among the failures is worth a story.
      std::string rule = one.broken().front();
      rule.erase(0, rule.find(": ") == std::string::npos ? 0 : rule.find(": ") + 2);
      const auto [place, is_new] = rules.try_emplace(rule, seed);
      if (is_new) explain(seed, by);
    }
    if (!held && by.until_found) {
      std::cout << "found by seed " << seed << '\n';
      return 0;
    }
    if (clock_type::now() - told > std::chrono::seconds{10}) {
      told = clock_type::now();
      std::cout << done << " of " << by.seeds << " worlds, " << rate() << " worlds per second"
                << std::endl;
    }
  }
  std::cout << "seeds " << by.from << " to " << by.from + by.seeds - 1 << ", world " << by.world
            << ": " << rate() << " worlds per second, " << steps / done << " steps each\n";
  for (const auto& [rule, seed] : rules)
    std::cout << "broken by seed " << seed << ": " << rule << '\n';
  std::cout << done - failed << " passed, " << failed << " failed\n";
  if (by.until_found) {
    std::cout << "the fault was not found\n";
    return 1;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  options by;
  if (!parse(count, words, by) || by.seeds == 0) {
    std::cerr << usage;
    return 2;
  }
  try {
    return run(by);
  } catch (const std::exception& fault) {
    std::cerr << fault.what() << '\n';
    return 2;
  }
}
