#pragma once

#include <string>

namespace callonce::gateway {

/// The reference page of the configuration, in Markdown.
std::string reference_page();

/// All keys with default and help, for a terminal.
std::string settings_help();

}  // namespace callonce::gateway
