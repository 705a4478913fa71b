#include <algorithm>

#include <callonce/core/message.hpp>
#include <callonce/core/target.hpp>

namespace callonce {
namespace {

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view{"-._~"}.find(c) != std::string_view::npos;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A broken escape is refused rather than kept: beside an undone one it could become a new escape.
std::optional<std::string> undo_escapes(std::string_view path) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string made;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '%') {
      made += path[at];
      continue;
    }
    if (at + 2 >= path.size()) return std::nullopt;
    const int high = hex_value(path[at + 1]);
    const int low = hex_value(path[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    at += 2;
    if (const char plain = static_cast<char>(high * 16 + low); is_unreserved(plain)) {
      made += plain;
    } else {
      made += '%';
      made += digits[static_cast<std::size_t>(high)];
      made += digits[static_cast<std::size_t>(low)];
    }
  }
  return made;
}

// What climbs above the root stays there. Pre: begins with '/'.
std::string resolve_dots(std::string_view path) {
  std::string made;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    const bool up = segment == "/..";
    if (up) made.resize(std::min(made.rfind('/'), made.size()));
    if (!up && segment != "/.") {
      made += segment;
    } else if (path.empty()) {
      made += '/';
    }
  }
  return made;
}

// Takes `http://AUTHORITY` off the front. Post: false when it is not that.
bool take_authority(std::string_view& target, std::string& authority) {
  const std::size_t colon = target.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string_view scheme = target.substr(0, colon);
  if (!same_name(scheme, "http") && !same_name(scheme, "https")) return false;
  target.remove_prefix(colon + 3);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  authority = target.substr(0, end);
  target.remove_prefix(end);
  return !authority.empty() && authority.find_first_of("@\\,") == std::string::npos;
}

}  // namespace

std::optional<normal_target> normalise_target(std::string_view method, std::string_view target) {
  normal_target made;
  if (target == "*" && method == "OPTIONS") {
    made.target = target;
    return made;
  }
  if (target.find('#') != std::string_view::npos) return std::nullopt;
  if (!target.starts_with('/') && !take_authority(target, made.authority)) return std::nullopt;
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(question);
  std::string_view path = target.substr(0, question);
  if (path.empty()) path = "/";
  const bool plain =
      path.find('%') == std::string_view::npos && path.find("/.") == std::string_view::npos;
  if (plain) {
    made.target.append(path).append(query);
    return made;
  }
  const std::optional<std::string> decoded = undo_escapes(path);
  if (!decoded) return std::nullopt;
  made.target = resolve_dots(*decoded);
  made.target += query;
  return made;
}

}  // namespace callonce
