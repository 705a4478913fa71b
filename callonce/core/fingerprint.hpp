#pragma once

#include <cstdint>
#include <optional>

#include <callonce/core/digest.hpp>
#include <callonce/core/message.hpp>

namespace callonce {

/// How a request is reduced to a fingerprint. The number is stored in the record for ever: a rule
/// that changes gets a new number, so that a live retry is never judged by a rule it was not hashed
/// with.
enum class fingerprint_rule : std::uint8_t {
  raw_v1 = 1,  ///< Method, target, media type essence, content coding, preconditions, body bytes.
};

/// What a request asks for, reduced to a hash; a difference under one key is a mismatch.
struct fingerprint {
  fingerprint_rule rule = fingerprint_rule::raw_v1;
  digest value{};
  friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// Errors: nothing when this build does not know `rule`.
/// Source: F-01 to F-18.
std::optional<fingerprint> fingerprint_of(const request& asked, fingerprint_rule rule);

}  // namespace callonce
