#include <iostream>

#include <cli/configured.hpp>

namespace callonce::cli {

std::string to_text(const gateway::origin& of) {
  using source = gateway::origin::source;
  std::string line = "line " + std::to_string(of.line);
  switch (of.from) {
    case source::built_in:
      return "built in";
    case source::file:
      return line;
    case source::defaults:
      return "defaults, " + line;
    case source::route:
      return "route, " + line;
    case source::profile:
      return "profile, " + line;
    case source::option:
      return "command line";
  }
  return {};
}

std::optional<gateway::configuration> usable(const gateway::loaded_configuration& read) {
  for (const std::string& line : read.mistakes) std::cerr << line << '\n';
  if (!read.mistakes.empty()) return std::nullopt;
  for (const std::string& line : read.warnings) std::cout << "warning: " << line << '\n';
  return read.value;
}

}  // namespace callonce::cli
