#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <callonce/core/digest.hpp>
#include <callonce/core/fingerprint.hpp>
#include <callonce/core/key.hpp>
#include <callonce/core/message.hpp>
#include <callonce/core/scope.hpp>

namespace callonce {

/// What a record is found by: scope and key, with the 16-byte index that stores keep unique.
class identity {
 public:
  using index_type = std::array<std::byte, 16>;

  identity() = default;
  identity(const scope_hash& scope, callonce::key key);

  const scope_hash& scope() const noexcept { return scope_; }
  const callonce::key& key() const noexcept { return key_; }
  /// The first 16 bytes of SHA-256(scope, key). Two identities under one index are a store fault.
  const index_type& index() const noexcept { return index_; }
  /// The printable id: 16 hex digits, used in logs, problems and on the command line.
  std::string record_id() const;

  friend bool operator==(const identity& left, const identity& right) noexcept {
    return left.index_ == right.index_ && left.scope_ == right.scope_ && left.key_ == right.key_;
  }

 private:
  scope_hash scope_{};
  callonce::key key_;
  index_type index_{};
};

/// Spreads identities over a hash table.
struct identity_hash {
  std::size_t operator()(const identity& of) const noexcept {
    std::size_t value = 0;
    std::memcpy(&value, of.index().data(), sizeof value);
    return value;
  }
};

/// The random 128 bits of one won claim, chosen before the write: the fence against zombies.
using claim_id = std::array<std::byte, 16>;

/// Claimed, released and parked are what the outside calls in progress; completed is final.
enum class record_state : std::uint8_t { claimed = 1, completed = 2, released = 3, parked = 4 };
std::string_view to_string(record_state state) noexcept;

/// Why a completed record has no body to give.
enum class body_omitted : std::uint8_t { none = 0, cap = 1, stream = 2, expired = 3 };

/// Instants of a store's own clocks; nodes never compare them with theirs. Lease and wall instants
/// share the type, not the clock: SQLite keeps leases in a clock that no operator can set.
struct store_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<store_clock, duration>;
  static constexpr bool is_steady = false;
};
using instant = store_clock::time_point;

/// One reading of both of a store's clocks.
struct moment {
  instant lease;  ///< Judges leases.
  instant wall;   ///< Judges retention.
};

/// A frozen answer: what the client of the first attempt got and every replay repeats.
struct stored_answer {
  int status = 0;
  header_list headers;
  body_bytes body;
  header_list trailers;
  body_omitted omitted = body_omitted::none;
  std::string resource;

  friend bool operator==(const stored_answer&, const stored_answer&) = default;
};

/// What a claim fixes for the life of its record, so that SQL, the purger and other nodes can judge
/// without this node's configuration.
struct claim_terms {
  std::chrono::milliseconds lease{};
  std::chrono::milliseconds retention{};      ///< Of the body, counted from completion.
  std::chrono::milliseconds key_retention{};  ///< Of the key, counted from completion.
  std::uint64_t response_body_max = 0;
  bool park = false;  ///< A lapsed lease makes the outcome unknown instead of a takeover.
  std::string route;

  friend bool operator==(const claim_terms&, const claim_terms&) = default;
};

/// One (scope, key): everything a store keeps about it.
struct record {
  identity id;
  callonce::fingerprint fingerprint;
  record_state state = record_state::claimed;
  std::uint32_t attempt = 1;
  callonce::claim_id claim_id{};
  claim_terms terms;
  instant lease_until;
  instant created_at;
  instant completed_at;
  instant body_until;
  instant expires_at;
  /// Set when completed; null there means that the stored answer cannot be read (corrupt).
  std::shared_ptr<const stored_answer> answer;
};

}  // namespace callonce
