#include <algorithm>
#include <chrono>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <gateway/jwt.hpp>
#include <gateway/jwt_text.hpp>

#include <callonce/core/message.hpp>

namespace callonce::gateway {
namespace {

namespace json = boost::json;

// A field of this size is no longer a credential; it bounds the work that a stranger can cause.
constexpr std::size_t token_bytes_max = std::size_t{16} << 10U;

// Hosts whose clocks are kept by NTP agree within seconds, badly kept ones within a minute: a token
// fresh from the issuer must not be refused for that, and one that has just run out does no harm.
constexpr double leeway_seconds = 60;

struct token_parts {
  std::string_view header;
  std::string_view payload;
  std::string_view signature;
};

std::optional<token_parts> split(std::string_view token) {
  if (token.size() > token_bytes_max) return std::nullopt;
  if (std::count(token.begin(), token.end(), '.') != 2) return std::nullopt;
  const std::size_t first = token.find('.');
  const std::size_t second = token.rfind('.');
  token_parts parts;
  parts.header = token.substr(0, first);
  parts.payload = token.substr(first + 1, second - first - 1);
  parts.signature = token.substr(second + 1);
  return parts;
}

std::optional<json::object> object_in(std::string_view part) {
  const auto text = from_base64url(part);
  return text ? parse_object(*text) : std::nullopt;
}

bool is_text(const json::value* value, std::string_view expected) {
  return value != nullptr && value->is_string() && value->get_string() == expected;
}

// Access tokens of RFC 9068 have a type of their own; other types were made for other ends
// (RFC 8725 section 3.11).
bool is_access_token(const json::object& header) {
  const json::value* type = header.if_contains("typ");
  if (type == nullptr) return true;
  if (!type->is_string()) return false;
  std::string_view name = type->get_string();
  constexpr std::string_view prefix = "application/";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return same_name(name, "JWT") || same_name(name, "at+jwt");
}

// The key is chosen by us, and its algorithm with it: what the token says only has to agree.
const jwt_key* key_for(const json::object& header, const std::vector<jwt_key>& keys) {
  // RFC 7515 section 4.1.11: extensions that must be understood, and none is.
  if (header.contains("crit") || !is_access_token(header)) return nullptr;
  const json::value* id = header.if_contains("kid");
  const auto is_meant = [&](const jwt_key& key) {
    // A key without a name is alone in its file: whatever the issuer calls it, there is no choice.
    const bool named = id == nullptr ? keys.size() == 1 : key.id.empty() || is_text(id, key.id);
    return named && is_text(header.if_contains("alg"), key.algorithm);
  };
  const auto found = std::find_if(keys.begin(), keys.end(), is_meant);
  return found == keys.end() ? nullptr : &*found;
}

std::optional<double> seconds_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

bool is_current(const json::object& payload, std::chrono::system_clock::time_point wall) {
  const double now = std::chrono::duration<double>{wall.time_since_epoch()}.count();
  const auto expires = seconds_of(payload.if_contains("exp"));
  if (!expires || now >= *expires + leeway_seconds) return false;
  const json::value* not_before = payload.if_contains("nbf");
  if (not_before == nullptr) return true;
  const auto begins = seconds_of(not_before);
  return begins && now + leeway_seconds >= *begins;
}

bool is_for(const json::object& payload, std::string_view audience) {
  const json::value* found = payload.if_contains("aud");
  if (found == nullptr || !found->is_array()) return is_text(found, audience);
  const json::array& list = found->get_array();
  return std::any_of(list.begin(), list.end(),
                     [&](const json::value& each) { return is_text(&each, audience); });
}

std::optional<std::string> text_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return std::to_string(value->get_int64());
  if (value->is_uint64()) return std::to_string(value->get_uint64());
  if (!value->is_string() || value->get_string().empty()) return std::nullopt;
  return std::string{value->get_string()};
}

}  // namespace

jwt_verifier::jwt_verifier(const jwt_settings& settings, const environment& in)
    : keys_(read_jwt_keys(settings.key_file, settings.algorithm)),
      issuer_(settings.issuer),
      audience_(settings.audience),
      environment_(in) {}

std::optional<std::string> jwt_verifier::claim_of(std::string_view token,
                                                  std::string_view claim) const {
  const auto parts = split(token);
  if (!parts) return std::nullopt;
  const auto header = object_in(parts->header);
  const jwt_key* key = header ? key_for(*header, keys_) : nullptr;
  const auto signature = from_base64url(parts->signature);
  const std::string_view text = token.substr(0, parts->header.size() + 1 + parts->payload.size());
  if (key == nullptr || !signature || !is_signed_by(*key, text, *signature)) return std::nullopt;
  const auto payload = object_in(parts->payload);
  if (!payload || !is_current(*payload, environment_.wall())) return std::nullopt;
  if (!issuer_.empty() && !is_text(payload->if_contains("iss"), issuer_)) return std::nullopt;
  if (!audience_.empty() && !is_for(*payload, audience_)) return std::nullopt;
  return text_of(payload->if_contains(claim));
}

}  // namespace callonce::gateway
