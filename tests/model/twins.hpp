#pragma once

#include <string_view>
#include <vector>

#include "tests/model/model.hpp"

namespace callonce::model {

/// The rules with one of them broken: the checker must see it, or it is worth nothing.
struct twin {
  std::string_view name;
  std::string_view breaks;  ///< A part of the invariant's sentence.
  scenario seen_in;
  rules by;
};

std::vector<twin> broken_twins();

}  // namespace callonce::model
