#include <algorithm>
#include <stdexcept>

#include <callonce/core/scope.hpp>

namespace callonce {
namespace {

bool is_field_name(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
  });
}

// Three base64url parts (five when encrypted) of which the first opens a JSON object ("eyJ" is
// `{"`), behind the scheme and one or more spaces (RFC 9110 section 11.4).
bool looks_like_jwt(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() ||
      !same_name(authorization.substr(0, scheme.size()), scheme)) {
    return false;
  }
  std::string_view token = authorization.substr(scheme.size());
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  const auto dots = std::count(token.begin(), token.end(), '.');
  return token.starts_with("eyJ") && (dots == 2 || dots == 4);
}

}  // namespace

scope_rule::scope_rule(std::string_view text) : text_(text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  name_ = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (text == "shared") return;
  if (kind == "header") {
    source_ = source::header;
  } else if (kind == "cookie") {
    source_ = source::cookie;
  } else if (kind == "trusted") {
    source_ = source::trusted;
  } else {
    throw std::invalid_argument(
        "scope rule '" + text_ +
        "' is unknown: use header:NAME, cookie:NAME, trusted:NAME or shared");
  }
  if (!is_field_name(name_)) {
    throw std::invalid_argument("scope rule '" + text_ + "' needs a name behind the colon");
  }
}

std::variant<scope_hash, scope_fault> scope_rule::derive(const request& from) const {
  switch (source_) {
    case source::shared:
      return hash({});
    case source::cookie:
      return from_cookie(from);
    case source::trusted:
      if (!from.from_trusted_hop()) return scope_fault::untrusted_hop;
      return from_header(from);
    case source::header:
      return from_header(from);
  }
  return scope_fault::missing_credential;
}

std::variant<scope_hash, scope_fault> scope_rule::from_header(const request& from) const {
  const bool is_authorization = same_name(name_, "Authorization");
  if (from.headers().count(name_) > 1) return scope_fault::repeated;
  const std::string* value = from.headers().find(name_);
  if (value == nullptr || value->find_first_not_of(" \t") == std::string::npos) {
    return is_authorization || source_ == source::trusted ? scope_fault::missing_credential
                                                          : scope_fault::missing_header;
  }
  if (is_authorization && looks_like_jwt(*value)) return scope_fault::unusable;
  return hash(*value);
}

// RFC 6265 section 5.4 sends one Cookie field; several lines count as one list.
std::variant<scope_hash, scope_fault> scope_rule::from_cookie(const request& from) const {
  std::string found;
  std::size_t matches = 0;
  for (const field& line : from.headers()) {
    if (!same_name(line.name, "Cookie")) continue;
    std::string_view rest = line.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      std::string_view pair = rest.substr(0, end);
      pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name_) {
        found = pair.substr(equals + 1);
        ++matches;
      }
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }
  if (matches > 1) return scope_fault::repeated;
  if (found.empty()) return scope_fault::missing_credential;
  return hash(found);
}

scope_hash scope_rule::hash(std::string_view value) const {
  return hasher{}.part(text_).part(value).finish();
}

scope_rule scope_from_header(std::string_view name) {
  return scope_rule{"header:" + std::string{name}};
}

}  // namespace callonce
