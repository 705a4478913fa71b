#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gateway/jwt.hpp>
#include <jwt.h>

namespace callonce::gateway {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

// Longer than any token that fits the header of a common server.
constexpr std::size_t token_bytes_max = std::size_t{16} << 10;
// Issuer and verifier are different machines: what most verifiers allow their clocks.
constexpr std::chrono::seconds leeway = 60s;

int base64url_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

// RFC 7515 section 2: without padding.
std::optional<std::string> decode_base64url(std::string_view text) {
  std::string made;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = base64url_value(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    made += static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xFFU);
  }
  return made;
}

std::optional<json::object> decode_object(std::string_view part) {
  const std::optional<std::string> text = decode_base64url(part);
  if (!text) return std::nullopt;
  boost::system::error_code fault;
  json::value read = json::parse(*text, fault);
  if (fault || !read.is_object()) return std::nullopt;
  return std::move(read.as_object());
}

std::string text_member(const json::object& in, std::string_view name) {
  const json::value* const found = in.if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return std::string{std::string_view{found->as_string()}};
}

// RFC 7519 section 2, NumericDate: it may have a fraction.
std::optional<double> date_member(const json::object& in, std::string_view name) {
  const json::value* const found = in.if_contains(name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

bool is_current(const json::object& claims, std::chrono::system_clock::time_point wall) {
  const auto seconds = std::chrono::duration<double>(wall.time_since_epoch()).count();
  constexpr auto allowed = std::chrono::duration<double>(leeway).count();
  const std::optional<double> expires = date_member(claims, "exp");
  if (!expires || seconds >= *expires + allowed) return false;
  if (claims.if_contains("nbf") == nullptr) return true;
  const std::optional<double> begins = date_member(claims, "nbf");
  return begins && seconds >= *begins - allowed;
}

bool is_for(const json::object& claims, const std::string& audience) {
  if (audience.empty()) return true;
  const json::value* const found = claims.if_contains("aud");
  if (found == nullptr) return false;
  if (found->is_string()) return std::string_view{found->as_string()} == audience;
  if (!found->is_array()) return false;
  for (const json::value& each : found->as_array()) {
    if (each.is_string() && std::string_view{each.as_string()} == audience) return true;
  }
  return false;
}

bool has_signature_of(const verification_key& key, const std::string& token) {
  jwt_t* made = nullptr;
  const auto* pem = reinterpret_cast<const unsigned char*>(key.pem.data());
  if (::jwt_decode(&made, token.c_str(), pem, static_cast<int>(key.pem.size())) != 0) return false;
  const std::unique_ptr<jwt_t, decltype(&::jwt_free)> read{made, &::jwt_free};
  return ::jwt_get_alg(read.get()) == ::jwt_str_alg(key.algorithm.c_str());
}

}  // namespace

jwt_verifier::jwt_verifier(const jwt_settings& with, const environment& in)
    : keys_(read_verification_keys(with.key_file, with.algorithm)),
      issuer_(with.issuer),
      audience_(with.audience),
      env_(in) {}

// The token may name its key, never its algorithm: that is the key's own.
const verification_key* jwt_verifier::key_for(std::string_view header) const {
  const std::optional<json::object> says = decode_object(header);
  if (!says) return nullptr;
  const std::string id = text_member(*says, "kid");
  const verification_key* chosen = nullptr;
  for (const verification_key& each : keys_) {
    if (each.id == id) chosen = &each;
  }
  // A PEM file has one key and no name for it.
  const bool only = keys_.size() == 1 && (id.empty() || keys_.front().id.empty());
  if (chosen == nullptr && only) chosen = &keys_.front();
  if (chosen == nullptr || (id.empty() && keys_.size() > 1)) return nullptr;
  return text_member(*says, "alg") == chosen->algorithm ? chosen : nullptr;
}

std::optional<std::string> jwt_verifier::claim_of(std::string_view token,
                                                  std::string_view claim) const {
  if (token.size() > token_bytes_max) return std::nullopt;
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  // libjwt reads up to a NUL, and must not read less than was sent.
  if (!decode_base64url(token.substr(second + 1))) return std::nullopt;
  const verification_key* const key = key_for(token.substr(0, first));
  if (key == nullptr || !has_signature_of(*key, std::string{token})) return std::nullopt;

  const std::optional<json::object> claims =
      decode_object(token.substr(first + 1, second - first - 1));
  if (!claims || !is_current(*claims, env_.wall()) || !is_for(*claims, audience_)) {
    return std::nullopt;
  }
  if (!issuer_.empty() && text_member(*claims, "iss") != issuer_) return std::nullopt;
  const json::value* const found = claims->if_contains(claim);
  if (found == nullptr) return std::nullopt;
  if (found->is_int64()) return std::to_string(found->as_int64());
  if (found->is_uint64()) return std::to_string(found->as_uint64());
  std::string value = text_member(*claims, claim);
  if (value.empty()) return std::nullopt;
  return value;
}

}  // namespace callonce::gateway
