#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace callonce::detail {

/// The bytes inside a gzip body, of one member or several, at most `bytes_max`.
/// Errors: nothing when it is malformed or cut off, when other bytes follow, or when it holds more.
/// Source: RFC 1952, F-10.
std::optional<std::string> gunzip(std::span<const std::byte> coded, std::uint64_t bytes_max);

}  // namespace callonce::detail
