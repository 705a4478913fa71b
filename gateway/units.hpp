#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace callonce::gateway {

// How people write lengths of time and numbers of bytes, and how they are shown to them.

/// Reads "250ms", "5s", "1m", "24h" or "7d"; a bare "0" is none.
/// Post: at most ten years; anything else gives nothing.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
/// The shortest spelling that `parse_duration` reads back.
std::string to_text(std::chrono::milliseconds length);

/// Reads "512B", "32KiB", "1MiB", "2GiB"; a bare number counts bytes.
/// Post: at most 1 TiB; anything else gives nothing.
std::optional<std::uint64_t> parse_size(std::string_view text);
/// The shortest spelling that `parse_size` reads back.
std::string size_text(std::uint64_t bytes);

}  // namespace callonce::gateway
