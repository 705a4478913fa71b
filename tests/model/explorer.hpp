#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/model.hpp"

namespace callonce::model {

/// A broken invariant, and how the world came there.
struct violation {
  std::string broken;
  std::vector<std::string> path;
};

struct report {
  std::size_t worlds = 0;  ///< Different worlds visited.
  std::size_t steps = 0;   ///< Steps checked, one for each world and what can happen in it.
  double paths = 0;        ///< Interleavings from the beginning to an end.
  std::optional<violation> found;
};

/// Visits every world that can come to be, depth first, each once, and checks every invariant;
/// stops at the first one that is broken.
report explore(const scenario& of, const rules& by = {});

}  // namespace callonce::model
