#pragma once

#include <string>
#include <vector>

namespace callonce::cli {

/// Rows of text in aligned columns, two blanks apart, each line behind `indent` blanks.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 0);

}  // namespace callonce::cli
