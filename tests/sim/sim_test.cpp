#include <array>

#include <gtest/gtest.h>

#include "tests/sim/simulation.hpp"

namespace callonce::sim {
namespace {

std::string story(const simulation& of) {
  std::string text;
  for (const std::string& line : of.history()) text += line + '\n';
  for (const std::string& rule : of.broken()) text += "broken: " + rule + '\n';
  return text;
}

void expect_holds(std::uint64_t seed, std::string_view world) {
  simulation one{seed, world};
  if (one.run()) return;
  simulation again{seed, world};
  again.keep_history();
  again.run();
  ADD_FAILURE() << "seed " << seed << ", world " << world << '\n' << story(again);
}

void expect_all_hold(std::string_view world, std::uint64_t seeds) {
  constexpr std::uint64_t first = 1;
  std::cout << world << " worlds, seeds " << first << " to " << seeds << '\n';
  for (std::uint64_t seed = first; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    expect_holds(seed, world);
  }
}

TEST(sim, rules_hold_in_mixed_worlds) {
  expect_all_hold("mixed", 3000);
}
TEST(sim, rules_hold_where_nothing_fails) {
  expect_all_hold("calm", 300);
}
TEST(sim, rules_hold_in_a_storm_of_duplicates) {
  expect_all_hold("storm", 200);
}
TEST(sim, rules_hold_where_acknowledgements_are_lost) {
  expect_all_hold("lost_replies", 300);
}
TEST(sim, rules_hold_where_owners_come_back_from_the_dead) {
  expect_all_hold("zombies", 300);
}

TEST(sim, rules_hold_where_rows_are_held) {
  expect_all_hold("held", 300);
}

// A process that slept between a completion and its acknowledgement took an answer for fresh whose
// body had expired, and whose key had begun a new life.
TEST(sim, memory_never_outlives_the_body_of_an_answer) {
  expect_holds(88645, "mixed");
}

// Its acknowledgement came only after it had lapsed and been parked.
TEST(sim, a_claim_that_never_ran_is_not_left_unknown) {
  expect_holds(119911, "mixed");
}

// An operator frees a claim whose owner has not heard yet that it has won.
TEST(sim, an_operator_may_decide_for_a_live_owner) {
  expect_holds(112151, "mixed");
}

// The promise on which every printed seed rests.
TEST(sim, equal_seeds_have_equal_histories) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulation one{seed, "mixed"};
    simulation other{seed, "mixed"};
    one.keep_history();
    other.keep_history();
    one.run();
    other.run();
    ASSERT_EQ(story(one), story(other)) << "seed " << seed;
  }
}

// Worlds in which little happens would prove little.
TEST(sim, everything_that_an_engine_can_report_happens) {
  constexpr int facts = 27;
  std::array<std::uint64_t, facts> seen{};
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    simulation one{seed, "mixed"};
    one.run();
    for (std::size_t kind = 0; kind < seen.size(); ++kind) {
      seen[kind] += one.reported(static_cast<fact_kind>(kind));
    }
  }
  for (std::size_t kind = 0; kind < seen.size(); ++kind) {
    const auto named = static_cast<fact_kind>(kind);
    // Here every request has a key, no route runs without its store, and connections report what
    // they have sent.
    if (named == fact_kind::passed_through || named == fact_kind::sent) continue;
    if (named == fact_kind::unprotected) continue;
    EXPECT_GT(seen[kind], 0U) << to_string(named);
    std::cout << to_string(named) << ' ' << seen[kind] << '\n';
  }
}

class every_broken_store : public testing::TestWithParam<std::string_view> {};

TEST_P(every_broken_store, is_found) {
  constexpr std::uint64_t seeds = 3000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    simulation one{seed, "mixed", GetParam()};
    if (one.run()) continue;
    std::cout << "found by seed " << seed << ": " << one.broken().front() << '\n';
    return;
  }
  FAIL() << "not found in " << seeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(sim, every_broken_store, testing::ValuesIn(testkit::broken_store_names()),
                         [](const auto& name) { return std::string{name.param}; });

}  // namespace
}  // namespace callonce::sim
