#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <callonce/core/error.hpp>
#include <callonce/core/record.hpp>

namespace callonce {

// How a stored answer lies in a store: a head that stays as long as the key, and the body bytes as
// they are, which go earlier. Both carry a checksum: damaged bytes are never replayed (C83).

/// The head: version, status, omission, resource, headers, and what proves the body.
std::string encode_head(const stored_answer& answer);

/// Puts head and body together again.
/// `body` is absent when the store dropped it: a non-empty body then reads as expired.
/// Errors: corrupt, for an unknown version, damaged head, or a body that is not the one that was
/// stored.
[[nodiscard]] result<stored_answer> decode_answer(std::string_view head,
                                                  std::optional<std::string_view> body);

}  // namespace callonce
