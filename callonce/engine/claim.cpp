#include <array>

#include <callonce/engine/claim.hpp>
#include <callonce/engine/one_transaction.hpp>

namespace callonce {
namespace {

// Six or five bits a digit, without padding.
std::string encode(std::span<const std::byte> bytes, std::string_view alphabet, unsigned width) {
  std::string text;
  unsigned held = 0;
  unsigned bits = 0;
  for (std::byte byte : bytes) {
    held = (held << 8) | std::to_integer<unsigned>(byte);
    bits += 8;
    while (bits >= width) {
      bits -= width;
      text += alphabet[(held >> bits) & ((1U << width) - 1)];
    }
    held &= (1U << bits) - 1;
  }
  if (bits > 0) text += alphabet[(held << (width - bits)) & ((1U << width) - 1)];
  return text;
}

constexpr std::string_view base64url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view base32 = "abcdefghijklmnopqrstuvwxyz234567";

// 200 bits: no collisions, and within every downstream's limit (64 at the narrowest ones that
// matter).
constexpr std::size_t downstream_key_digits = 40;

}  // namespace

std::string handle_of(const fence& by) {
  std::string bytes{text_of(by.id.index())};
  for (unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(by.attempt >> shift);
  bytes += text_of(by.claim_id);
  return encode(bytes_of(bytes), base64url, 6);
}

stored_answer claim::frozen(const response& answer) const {
  return callonce::frozen(*policy_, answer);
}

std::string claim::downstream_key(std::string_view name) const {
  const digest whole = hasher{}
                           .part("callonce downstream key")
                           .part(fence_.id.scope())
                           .part(fence_.id.key().bytes())
                           .part(name)
                           .finish();
  return encode(whole, base32, 5).substr(0, downstream_key_digits);
}

}  // namespace callonce
