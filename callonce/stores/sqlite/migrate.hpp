#pragma once

// Internal: the tables of a file, brought to what this build expects.

#include <callonce/stores/sqlite/clocks.hpp>
#include <callonce/stores/sqlite/database.hpp>

namespace callonce::sqlite::detail {

/// Applies what the file has not recorded yet, each step in a transaction of its own; running it
/// again does nothing.
/// Errors: throws misconfigured, also for a file that a newer build has written.
void migrate(database& in, const clocks& by);

}  // namespace callonce::sqlite::detail
