#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace callonce {

/// A client's idempotency key: 1 to 255 bytes, compared byte for byte.
class key {
 public:
  /// 255 bytes, the widest limit of the published contracts; it bounds the row of every store.
  static constexpr std::size_t bytes_max = 255;

  key() = default;
  /// Pre: 1 to `bytes_max` bytes; `parse_key` is the door for what a client sent.
  explicit key(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string_view bytes() const noexcept { return bytes_; }
  friend bool operator==(const key&, const key&) = default;

 private:
  std::string bytes_;
};

/// Which spellings of a key are taken.
enum class key_syntax {
  automatic,  ///< The quoted Structured-Field string, or a bare value from a closed alphabet.
  strict,     ///< The quoted form only.
};

/// Why a field value is no key; `to_string` gives the word used in the problem's `reason`.
enum class key_fault { malformed, empty, too_long, repeated, format, first_sent };

std::string_view to_string(key_fault fault) noexcept;

/// Reads the value of one `Idempotency-Key` field line; both spellings of one value are one key.
/// Errors: a `key_fault`; a value of blanks only counts as empty.
/// Source: draft-ietf-httpapi-idempotency-key-header-07 section 2.1, RFC 9651 section 4.2.5, P-04
/// to P-26.
std::variant<key, key_fault> parse_key(std::string_view field_value, key_syntax syntax);

}  // namespace callonce
