#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace conform {

struct run_options {
  std::filesystem::path callonce;
  std::filesystem::path effect_app;
  /// Makes a store: called with a name, it prints the store's URL; empty: SQLite files.
  std::filesystem::path new_store;
  std::vector<std::string> only;  ///< prefixes of ids; empty means every row
  bool deep = false;
};

/// Runs the rows and prints a line for each, in their order, and the count at the end.
/// Post: 0 when no row failed, else 1. Errors: throws when the programs cannot be started.
int run_rows(const run_options& options, std::ostream& to);

/// `- **ID** sentence`, one line a row.
void list_rows(std::ostream& to);

}  // namespace conform
