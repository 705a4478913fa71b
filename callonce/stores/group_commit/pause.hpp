#pragma once

// Internal: the one place where a store's own thread sleeps.

#include <chrono>

namespace callonce::group_commit {

/// Sleeps between two looks at a lock that has no event to wait for. Only threads of the store
/// call it, never an executor's.
void pause(std::chrono::microseconds how_long);

}  // namespace callonce::group_commit
