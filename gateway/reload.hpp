#pragma once

#include <string>
#include <vector>

#include <gateway/config.hpp>

namespace callonce::gateway {

/// Why a running gateway cannot go on with another configuration: one line each, which says what
/// to do; empty where it can. What needs another socket, file or thread needs a restart; what would
/// change whose keys are whose is refused.
std::vector<std::string> reload_mistakes(const configuration& now, const configuration& wanted);

}  // namespace callonce::gateway
