#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/model/explorer.hpp"
#include "tests/model/twins.hpp"

namespace callonce::model {
namespace {

std::string told(const violation& what) {
  std::string text = what.broken;
  for (const std::string& step : what.path) text += "\n  " + step;
  return text;
}

// Together: two and three clients of one key; one crash at any point of any of them; leases and
// retentions that end at any point; an operation that arrives twice or late; a reply that is lost;
// another payload; park; an operator; a purger; an application's own transaction.
const scenario scenarios[] = {
    {.name = "two_clients"},
    {.name = "two_clients_mismatch", .mismatch = true, .lost_replies = 0, .renewals = 0},
    {.name = "two_clients_mismatch_park", .mismatch = true, .park = true, .renewals = 0},
    {.name = "two_clients_park_settle",
     .park = true,
     .settles = true,
     .lost_replies = 0,
     .renewals = 0},
    {.name = "two_clients_co_commit", .co_commit = true, .retention = false, .renewals = 0},
    {.name = "three_clients", .clients = 3, .lost_replies = 0, .echoes = 0, .renewals = 0},
    {.name = "three_clients_lost_reply_echo", .clients = 3, .retention = false, .renewals = 0},
    {.name = "three_clients_mismatch_echo",
     .clients = 3,
     .mismatch = true,
     .retention = false,
     .lost_replies = 0,
     .renewals = 0},
    {.name = "three_clients_mismatch_park_settle",
     .clients = 3,
     .mismatch = true,
     .park = true,
     .settles = true,
     .retention = false,
     .lost_replies = 0,
     .echoes = 0,
     .renewals = 0},
    {.name = "three_clients_co_commit",
     .clients = 3,
     .co_commit = true,
     .retention = false,
     .lost_replies = 0,
     .echoes = 0,
     .renewals = 0},
};

class Model : public testing::TestWithParam<scenario> {};

TEST_P(Model, EveryInvariantHoldsInEveryWorld) {
  const report made = explore(GetParam());
  std::cout << GetParam().name << ": " << made.worlds << " worlds, " << made.steps << " steps, "
            << made.paths << " interleavings\n";
  if (made.found) ADD_FAILURE() << told(*made.found);
  EXPECT_GT(made.worlds, 1000U);
}

INSTANTIATE_TEST_SUITE_P(, Model, testing::ValuesIn(scenarios),
                         [](const auto& of) { return std::string{of.param.name}; });

TEST(ModelTwins, EveryBrokenTwinIsFound) {
  for (const twin& broken : broken_twins()) {
    const report made = explore(broken.seen_in, broken.by);
    if (!made.found) {
      ADD_FAILURE() << broken.name << ": not found in " << made.worlds << " worlds";
      continue;
    }
    EXPECT_NE(made.found->broken.find(broken.breaks), std::string::npos)
        << broken.name << " was found as: " << told(*made.found);
    std::cout << "broken twin '" << broken.name << "' is found after " << made.steps
              << " steps: " << made.found->broken << "\n";
  }
}

}  // namespace
}  // namespace callonce::model
