#include <algorithm>
#include <optional>
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

// Between the sources of a list, where it is written as one text; no name has a blank.
constexpr std::string_view separator = " + ";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> made;
  for (;;) {
    const std::size_t end = text.find(separator);
    made.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return made;
    text.remove_prefix(end + separator.size());
  }
}

// What a claim may be called; names in the form of a URI are usual.
bool is_claim_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
}

// What stands behind the scheme and one or more spaces (RFC 9110 section 11.4).
std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() ||
      !same_name(authorization.substr(0, scheme.size()), scheme)) {
    return std::nullopt;
  }
  std::string_view token = authorization.substr(scheme.size());
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  return token;
}

// Three base64url parts (five when encrypted) of which the first opens a JSON object ("eyJ" is
// `{"`).
bool looks_like_jwt(std::string_view authorization) {
  const std::optional<std::string_view> token = bearer_token(authorization);
  if (!token) return false;
  const auto dots = std::count(token->begin(), token->end(), '.');
  return token->starts_with("eyJ") && (dots == 2 || dots == 4);
}

}  // namespace

scope_rule::source scope_rule::parse(std::string_view text) {
  source made;
  made.text = text;
  if (text == "shared") return made;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  made.name = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (word == "header") {
    made.from = kind::header;
  } else if (word == "cookie") {
    made.from = kind::cookie;
  } else if (word == "trusted") {
    made.from = kind::trusted;
  } else if (word == "jwt") {
    made.from = kind::jwt;
  } else {
    throw std::invalid_argument("scope rule '" + made.text +
                                "' is unknown: use header:NAME, cookie:NAME, trusted:NAME, "
                                "jwt:CLAIM or shared");
  }
  const bool named = made.from == kind::jwt ? is_claim_name(made.name) : is_field_name(made.name);
  if (!named) {
    throw std::invalid_argument("scope rule '" + made.text + "' needs a name behind the colon");
  }
  return made;
}

scope_rule::scope_rule(std::string_view text) : scope_rule(split(text)) {}

scope_rule::scope_rule(const std::vector<std::string>& texts) {
  for (const std::string& each : texts) {
    text_.append(text_.empty() ? "" : separator).append(each);
    sources_.push_back(parse(each));
  }
  if (sources_.empty()) throw std::invalid_argument("a scope rule needs at least one source");
  if (has(kind::shared) && sources_.size() > 1) {
    throw std::invalid_argument("scope rule 'shared' stands alone: leave the others, or it");
  }
}

bool scope_rule::has(kind wanted) const noexcept {
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const source& each) { return each.from == wanted; });
}

std::variant<scope_hash, scope_fault> scope_rule::derive(const request& from) const {
  hasher into;
  for (const source& each : sources_) {
    const found value = value_of(each, from);
    if (const auto* fault = std::get_if<scope_fault>(&value)) return *fault;
    into.part(each.text).part(std::get<std::string>(value));
  }
  return into.finish();
}

scope_rule::found scope_rule::value_of(const source& one, const request& from) const {
  switch (one.from) {
    case kind::shared:
      return std::string{};
    case kind::cookie:
      return from_cookie(one, from);
    case kind::jwt:
      return from_token(one, from);
    case kind::trusted:
      if (!from.from_trusted_hop()) return scope_fault::untrusted_hop;
      return from_header(one, from);
    case kind::header:
      return from_header(one, from);
  }
  return scope_fault::missing_credential;
}

scope_rule::found scope_rule::from_header(const source& one, const request& from) {
  const bool is_authorization = same_name(one.name, "Authorization");
  if (from.headers().count(one.name) > 1) return scope_fault::repeated;
  const std::string* value = from.headers().find(one.name);
  if (value == nullptr || value->find_first_not_of(" \t") == std::string::npos) {
    return is_authorization || one.from == kind::trusted ? scope_fault::missing_credential
                                                         : scope_fault::missing_header;
  }
  if (is_authorization && looks_like_jwt(*value)) return scope_fault::unusable;
  return *value;
}

// RFC 6265 section 5.4 sends one Cookie field; several lines count as one list.
scope_rule::found scope_rule::from_cookie(const source& one, const request& from) {
  std::string met;
  std::size_t matches = 0;
  for (const field& line : from.headers()) {
    if (!same_name(line.name, "Cookie")) continue;
    std::string_view rest = line.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      std::string_view pair = rest.substr(0, end);
      pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == one.name) {
        met = pair.substr(equals + 1);
        ++matches;
      }
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }
  if (matches > 1) return scope_fault::repeated;
  if (met.empty()) return scope_fault::missing_credential;
  return met;
}

scope_rule::found scope_rule::from_token(const source& one, const request& from) const {
  if (from.headers().count("Authorization") > 1) return scope_fault::repeated;
  const std::string* const value = from.headers().find("Authorization");
  if (value == nullptr) return scope_fault::missing_credential;
  const std::optional<std::string_view> token = bearer_token(*value);
  if (!token || !verifier_) return scope_fault::unproved;
  std::optional<std::string> claim = verifier_->claim_of(*token, one.name);
  if (!claim || claim->empty()) return scope_fault::unproved;
  return *std::move(claim);
}

scope_hash scope_rule::hash(std::span<const std::string> values) const {
  hasher into;
  for (std::size_t at = 0; at < sources_.size() && at < values.size(); ++at) {
    into.part(sources_[at].text).part(values[at]);
  }
  return into.finish();
}

scope_hash scope_rule::hash(std::string_view value) const {
  const std::string one{value};
  return hash({&one, 1});
}

scope_rule scope_from_header(std::string_view name) {
  return scope_rule{"header:" + std::string{name}};
}

}  // namespace callonce
