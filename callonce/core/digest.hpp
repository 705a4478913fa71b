#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace callonce {

/// The 32 bytes of a SHA-256.
using digest = std::array<std::byte, 32>;

/// The bytes of a text, for hashing and storing.
inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span{text.data(), text.size()});
}

/// The characters behind a span of bytes.
inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Lower-case hexadecimal digits, two a byte.
std::string to_hex(std::span<const std::byte> bytes);

/// The bytes behind hexadecimal digits; nothing when `text` is anything else.
std::optional<std::string> from_hex(std::string_view text);

/// A SHA-256 over parts whose lengths join the hash, so that parts cannot flow into each other.
/// Threads: one object, one thread.
class hasher {
 public:
  hasher();
  ~hasher();
  hasher(const hasher&) = delete;
  hasher& operator=(const hasher&) = delete;

  /// Adds one part, preceded by its length.
  hasher& part(std::span<const std::byte> bytes);
  hasher& part(std::string_view text) { return part(bytes_of(text)); }

  /// Adds a number as eight bytes, highest first.
  hasher& number(std::uint64_t value);

  /// Post: the object is spent.
  digest finish();

 private:
  struct context;
  std::unique_ptr<context> context_;
};

}  // namespace callonce
