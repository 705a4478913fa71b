#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <callonce/core/error.hpp>
#include <callonce/core/record.hpp>

namespace callonce {

// How a stored answer lies in a store: a head that stays as long as the key, and the body, which
// goes earlier. Both carry a checksum: damaged bytes are never replayed (C83).

/// How the body bytes lie there.
enum class body_coding : std::uint8_t { plain = 0, zstd = 1 };

/// The body made smaller, for `body_coding::zstd`. Errors: nothing where that is not worth it: a
/// small body, one that is coded already, or one that hardly shrinks. Source: R-21.
std::optional<std::string> compress_body(const stored_answer& answer);

/// The head: version, status, omission, resource, headers, trailers, and what proves the body.
std::string encode_head(const stored_answer& answer, body_coding coding = body_coding::plain);

/// Puts head and body together again.
/// `body` is absent when the store dropped it: a non-empty body then reads as expired.
/// Errors: corrupt, for an unknown version, damaged head, or a body that is not the one that was
/// stored.
[[nodiscard]] result<stored_answer> decode_answer(std::string_view head,
                                                  std::optional<std::string_view> body);

/// An answer that an application has written through SQL, in its own transaction: `headers` is a
/// JSON array of [name, value], of which is kept what `freeze` keeps; `body` is absent when the
/// store dropped it.
/// Errors: corrupt, for what no HTTP answer can be: a status outside 200 to 599, other JSON, a name
/// that is no token, a value with control characters.
[[nodiscard]] result<stored_answer> decode_plain_answer(int status, std::string_view headers,
                                                        std::optional<std::string_view> body,
                                                        body_omitted omitted);

}  // namespace callonce
