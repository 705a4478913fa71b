#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace callonce {

/// Which keys a route takes, beyond their syntax.
enum class key_format : std::uint8_t { any, uuid, uuidv4, uuidv7, ulid };

/// Where a key's time of creation is read.
enum class key_time : std::uint8_t {
  off,
  uuidv7,      ///< The key's own first 48 bits.
  ulid,        ///< The key's own first ten letters.
  first_sent,  ///< The request field `Repeatability-First-Sent`.
};

using wall_time = std::chrono::system_clock::time_point;

/// Whether a key has a format; the nil UUID has none. Source: RFC 9562 sections 4 and 5, P-26.
bool has_format(std::string_view key, key_format format) noexcept;

/// When a UUIDv7 or a ULID was made. Errors: nothing where the key has not that format.
/// Source: RFC 9562 section 5.7, T-06, T-07.
std::optional<wall_time> creation_of(std::string_view key, key_time by) noexcept;

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, the one form of a date that may still be sent.
/// Source: RFC 9110 section 5.6.7, T-08.
std::optional<wall_time> parse_fixdate(std::string_view text) noexcept;

}  // namespace callonce
