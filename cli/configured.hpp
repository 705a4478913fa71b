#pragma once

#include <optional>
#include <string>

#include <gateway/config.hpp>

namespace callonce::cli {

/// Where a value comes from, for people: "line 7", "defaults, line 3", "built in".
std::string to_text(const gateway::origin& of);

/// Prints mistakes to standard error and warnings to standard output.
/// Post: the configuration, if it may be used.
std::optional<gateway::configuration> usable(const gateway::loaded_configuration& read);

}  // namespace callonce::cli
