#include <new>

#include <openssl/evp.h>

#include <callonce/core/digest.hpp>

namespace callonce {
namespace {

// Fetched once: OpenSSL 3 otherwise looks the algorithm up by name for every hash.
const EVP_MD* sha256() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

struct hasher::context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ~context() { EVP_MD_CTX_free(evp); }
};

hasher::hasher() : context_(std::make_unique<context>()) {
  if (context_->evp == nullptr || EVP_DigestInit_ex2(context_->evp, sha256(), nullptr) != 1) {
    throw std::bad_alloc{};
  }
}

hasher::~hasher() = default;

hasher& hasher::part(std::span<const std::byte> bytes) {
  number(bytes.size());
  EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
  return *this;
}

hasher& hasher::number(std::uint64_t value) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<std::byte>(value >> (8 * (7 - at)));
  }
  EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
  return *this;
}

digest hasher::finish() {
  digest out{};
  EVP_DigestFinal_ex(context_->evp, reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

}  // namespace callonce
