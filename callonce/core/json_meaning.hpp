#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace callonce::detail {

/// Longer texts are not taken apart: an API's JSON request is shorter, and the work is done on the
/// thread that serves everybody.
inline constexpr std::size_t json_bytes_max = std::size_t{1} << 20;

/// Bytes that are equal exactly when two JSON texts mean the same: the order of members, white
/// space, escapes and the spelling of a number (`1`, `1.0`, `10e-1`) do not count; numbers are
/// exact decimals, arrays keep their order, `null` is apart from absent.
/// Errors: nothing for what has no one meaning: not one JSON text, a doubled member name, an
/// exponent that does not fit 32 bits, deeper than 64 levels, longer than `json_bytes_max`.
std::optional<std::string> json_meaning(std::string_view text);

/// The same for some members of an object; each of `fields` is a path of member names joined by
/// dots. Their own order does not count, nor how often one is named.
/// Errors: the same, and nothing where the text is no object.
std::optional<std::string> json_meaning(std::string_view text, std::span<const std::string> fields);

}  // namespace callonce::detail
