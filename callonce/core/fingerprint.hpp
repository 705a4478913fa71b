#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/digest.hpp>
#include <callonce/core/message.hpp>

namespace callonce {

/// How a request is reduced to a fingerprint. Its text is stored in the record for ever: a rule
/// that changes gets another text, so that a live retry is never judged by a rule it was not hashed
/// with. Source: F-16, C36.
class fingerprint_rule {
 public:
  enum class kind : std::uint8_t {
    raw,        ///< Method, target, media type, content coding, preconditions, body bytes.
    json,       ///< The same, but the body by its JSON meaning.
    body,       ///< Query and body bytes alone: for identities that hold method and path.
    json_body,  ///< Query and the body's JSON meaning alone.
    fields,     ///< Method, target, and the meaning of chosen members of a JSON body.
  };

  /// `raw`, which fits most APIs.
  fingerprint_rule() = default;
  explicit fingerprint_rule(kind what) : fingerprint_rule(what, {}, false) {}
  /// `names` are the chosen members, each a path joined by dots (`params.amount`), where `what` is
  /// `fields`. With `decoded` a gzip body is hashed by what it holds, so that a client may compress
  /// its retry anew. Pre: no name is empty or has a blank.
  fingerprint_rule(kind what, std::span<const std::string> names, bool decoded);
  /// A rule as a record keeps it; any text, also one of a newer build.
  static fingerprint_rule from_text(std::string text);

  const std::string& text() const noexcept { return text_; }
  friend bool operator==(const fingerprint_rule&, const fingerprint_rule&) = default;

 private:
  std::string text_ = "raw";
};

/// What a request asks for, reduced to a hash; a difference under one key is a mismatch.
struct fingerprint {
  fingerprint_rule rule;
  digest value{};
  friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// A body that has no JSON meaning (not JSON, doubled member names) counts by its bytes, and so
/// does one that decodes to more than `decoded_max` bytes.
/// Errors: nothing when this build does not know `rule`.
/// Source: F-01 to F-18, C30, C34.
std::optional<fingerprint> fingerprint_of(const request& asked, const fingerprint_rule& rule,
                                          std::uint64_t decoded_max = std::uint64_t{64} << 20);

}  // namespace callonce
