#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace payments {

/// The whole text as a number from 0 to `max`.
inline std::optional<int> number(std::string_view text, int max) {
  int value = -1;
  const auto* end = text.data() + text.size();
  const auto [read, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || read != end || value < 0 || value > max) return std::nullopt;
  return value;
}

}  // namespace payments
