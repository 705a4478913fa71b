#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace callonce::gateway {

/// Reads base64url without padding (RFC 7515). Strict, so that no two texts are the same bytes.
std::optional<std::string> from_base64url(std::string_view text);

/// Reads a JSON object; nothing if it is none or has a member twice, since parsers disagree on
/// which of the two counts.
std::optional<boost::json::object> parse_object(std::string_view text);

}  // namespace callonce::gateway
