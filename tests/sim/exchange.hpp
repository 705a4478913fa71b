#pragma once

#include <optional>
#include <stop_token>

#include <callonce/engine/event.hpp>
#include <callonce/testkit/checker.hpp>

namespace callonce::sim {

struct exchange {
  testkit::asked as;
  request what;
  std::stop_source left;  ///< The client hangs up.
  bool gone = false;      ///< It has hung up, and the node knows it.
  std::optional<response> got;
  detail::event arrived;  ///< An answer, or the news that none will come.
};

}  // namespace callonce::sim
