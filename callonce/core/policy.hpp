#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <callonce/core/fingerprint.hpp>
#include <callonce/core/key.hpp>
#include <callonce/core/key_format.hpp>
#include <callonce/core/problem.hpp>
#include <callonce/core/record.hpp>
#include <callonce/core/scope.hpp>

namespace callonce {

/// Whether a route wants a key: without one an optional route passes the request on unprotected.
enum class key_demand : std::uint8_t { optional, required, off };

/// What is promised about effects; shown to operators, never judged.
enum class effect_class : std::uint8_t { opaque, rerunnable, atomic };

/// What a key belongs to besides its scope.
enum class key_identity : std::uint8_t {
  principal,  ///< The scope alone: the same key on another operation is a mismatch.
  route,      ///< Method and path too: the same key on another path is another key.
};

/// What becomes of a request whose claim the store cannot take.
enum class store_down : std::uint8_t {
  fail_closed,  ///< 503, and nothing runs.
  fail_open,    ///< It runs unprotected, and its answer says so.
};

/// What a route does with an answer of a given status, where the built-in rule is not wanted.
enum class outcome_rule : std::uint8_t {
  complete,  ///< Written `final` in the configuration: frozen and replayed.
  release,   ///< The next retry runs again at once.
  keep,      ///< The claim stays until its lease lapses.
};

/// All settings of one route, with their defaults.
struct policy_settings {
  std::string name;                 ///< Label in metrics and logs.
  std::optional<scope_rule> scope;  ///< Obligatory: whose key it is.
  std::vector<std::string> methods{"POST", "PATCH"};
  std::string key_header = "Idempotency-Key";
  fingerprint_rule fingerprint;
  callonce::key_syntax key_syntax = key_syntax::automatic;
  key_demand key = key_demand::optional;
  callonce::key_format key_format = key_format::any;
  callonce::key_time key_time = key_time::off;
  key_identity key_per = key_identity::principal;
  effect_class effects = effect_class::opaque;
  callonce::store_down store_down = store_down::fail_closed;
  bool echo_key = false;  ///< Every answer to a request with a key carries it.
  /// How far a client's clock may be wrong where keys are dated.
  std::chrono::milliseconds key_skew{std::chrono::minutes{5}};

  std::chrono::milliseconds lease{std::chrono::seconds{60}};
  /// The client's answer, counted from the won claim; below the lease, so that a crashed owner's
  /// retry does not meet a live claim for longer than one lease.
  std::chrono::milliseconds timeout{std::chrono::seconds{50}};
  /// How long an exchange that lost its client, or overran `timeout`, may go on.
  std::chrono::milliseconds detached_max{std::chrono::minutes{5}};
  /// How long a duplicate waits for the running attempt before it is told 409.
  std::chrono::milliseconds wait{0};
  /// How long an indeterminate attempt is read back before its claim is kept.
  std::chrono::milliseconds readback{500};

  std::chrono::milliseconds retention{std::chrono::hours{24}};
  std::chrono::milliseconds key_retention{std::chrono::hours{24 * 7}};
  std::chrono::milliseconds released_retention{std::chrono::hours{1}};
  std::uint64_t response_body_max = std::uint64_t{1} << 20;
  std::uint64_t request_body_max = std::uint64_t{64} << 20;

  int on_mismatch = 422;     ///< 422, 400 or 409.
  int on_in_progress = 409;  ///< 409 or 425.
  /// A lapsed claim of so many attempts is parked; 0: no bound.
  std::uint32_t max_attempts = 0;
  bool park_on_lapse = false;  ///< A lapsed lease parks instead of being taken over.
  /// Status, or class as its hundreds digit (5 for 5xx), to what is done with it.
  std::map<int, outcome_rule> outcome;
  std::vector<std::string> replay_headers_drop{"Set-Cookie", "WWW-Authenticate",
                                               "Authentication-Info"};
  problem_form problems;  ///< How callonce's own answers are written.
};

/// What the engine must know of a route before it runs anything. Shortest lease: 2 s, since the
/// keeper, clocks and a stalled disk need room in it.
class policy {
 public:
  static constexpr std::chrono::milliseconds lease_min{2000};

  policy() = default;
  explicit policy(policy_settings settings) : settings_(std::move(settings)) {}

  policy& scope(scope_rule rule);
  policy& name(std::string label);
  policy& methods(std::vector<std::string> protected_methods);
  policy& key(key_demand demand);
  policy& lease(std::chrono::milliseconds length);
  policy& timeout(std::chrono::milliseconds length);
  policy& wait(std::chrono::milliseconds length);
  policy& retention(std::chrono::milliseconds of_body, std::chrono::milliseconds of_key);
  policy& park_on_lapse(bool park = true);

  const policy_settings& settings() const noexcept { return settings_; }

  /// Errors: throws std::invalid_argument with one sentence that says what to change.
  void check() const;

  claim_terms terms() const;

 private:
  policy_settings settings_;
};

/// This request needs no record: it is forwarded as it is.
struct pass_through {};

/// What a request gets before its body is read: passed through, refused, or admitted under an
/// identity. Nothing in here leaves a trace in a store. `now` judges dated keys.
/// Source: semantics 1.6 and 1.7; P-01 to P-26, A-02, A-11, T-06 to T-08.
std::variant<pass_through, problem, identity> admit(const policy& by, const request& head,
                                                    wall_time now);

/// The identity of a key under a route: what `admit` gives for a good one.
identity identity_of(const policy& by, const scope_hash& scope, key of, std::string_view method,
                     std::string_view target);

/// Adds what an answer owes to its request: the echoed key, and the words of the Repeatable
/// Requests contract. Pre: called once, on the whole answer. Source: PA and PR rows.
class answer_debts {
 public:
  answer_debts() = default;
  answer_debts(const policy& by, const request& head);
  void pay(response& answer) const;

 private:
  std::string echoed_name_;
  std::string echoed_value_;
  bool repeatable_ = false;
};

/// What becomes of the record when a handler has answered.
struct judgement {
  enum class kind : std::uint8_t { complete, release, keep, park };
  kind verdict = kind::complete;
  std::chrono::milliseconds released_retention{};  ///< Where `verdict` is release.
};

/// Judges a complete answer.
/// Source: design section 5, "What freezes"; S-01 to S-12, C48, C49.
judgement judge(const policy& by, const response& answer);

/// Whether an answer of this status says nothing certain about the hop behind the one that wrote it
/// (502 and 504), and neither the route nor the application has decided otherwise.
bool says_nothing_certain(const policy& by, const response& received);

}  // namespace callonce
