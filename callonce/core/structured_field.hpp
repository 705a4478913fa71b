#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace callonce::detail {

/// Reads a Structured Field Item whose value is a String; its parameters are checked and dropped.
/// Pre: no blanks around `text`.
/// Source: RFC 9651 sections 4.2.3 to 4.2.10, less the UTF-8 check of a Display String parameter.
std::optional<std::string> parse_string_item(std::string_view text);

}  // namespace callonce::detail
