#include <algorithm>

#include <cli/columns.hpp>

namespace callonce::cli {

std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string made;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string cell = row[i];
      cell.resize(widths[i], ' ');
      line.append(i == 0 ? "" : "  ").append(cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    made.append(line).append("\n");
  }
  return made;
}

}  // namespace callonce::cli
