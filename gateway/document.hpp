#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace callonce::gateway {

/// A value as it stands in a configuration file; a table holds words only.
using setting_value = std::variant<std::string, std::int64_t, bool, std::vector<std::string>,
                                   std::vector<std::pair<std::string, std::string>>>;

/// One `key = value`, and where it stands.
struct assignment {
  std::string section;    ///< Empty at the top level; "route" for all [[route]] tables.
  std::size_t route = 0;  ///< Which of them.
  std::string key;
  setting_value value;
  unsigned line = 0;
};

/// What is wrong at a line, and what to do.
struct mistake {
  unsigned line = 0;
  std::string text;
};

/// A configuration file, read but not understood yet.
struct document {
  std::vector<assignment> assignments;  ///< In the order of the file, [defaults] first.
  std::vector<unsigned> route_lines;    ///< Where each [[route]] begins.
  std::vector<mistake> mistakes;
};

/// Reads TOML and puts the environment's values in for `${NAME}`.
document read_document(std::string_view toml);

}  // namespace callonce::gateway
