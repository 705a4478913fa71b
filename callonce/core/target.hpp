#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace callonce {

/// The one form under which a request target is routed, hashed and forwarded.
struct normal_target {
  std::string target;     ///< Path and query, or `*`.
  std::string authority;  ///< Of a target in absolute form; it takes the place of Host.
};

/// Brings a target to its normal form: without scheme and authority, dot segments resolved, escapes
/// of unreserved characters undone, other escapes in upper case. The query stays as it is.
/// Errors: nothing for what names no resource of an HTTP server: a fragment, a broken escape,
/// another scheme, user information, CONNECT's form.
/// Source: RFC 9112 section 3.2, RFC 3986 sections 5.2.4 and 6.2.2, G-12.
std::optional<normal_target> normalise_target(std::string_view method, std::string_view target);

}  // namespace callonce
