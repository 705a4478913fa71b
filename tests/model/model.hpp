#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <callonce/core/transition.hpp>

// A small world around one key: clients, an operator, a purger, an application's transaction, and
// the network's echoes, over the rules of a record. Everything in it is a small number, so that
// worlds can be compared and remembered; times are what is left of them.
namespace callonce::model {

using small = std::uint8_t;

/// The rules under test: those of `core/transition`, or a twin that breaks one of them.
struct rules {
  std::function<claim_step(const record*, const claim_request&, moment, row_hold)> claim = on_claim;
  std::function<write_step(const record*, const fence&, moment, row_hold)> renew = on_renew;
  std::function<write_step(const record*, const fence&, std::shared_ptr<const stored_answer>,
                           moment, row_hold)>
      complete = on_complete;
  std::function<write_step(const record*, const fence&, std::chrono::milliseconds, moment,
                           row_hold)>
      release = on_release;
  std::function<write_step(const record*, const fence&, row_hold)> park = on_park;
  std::function<write_step(const record*, const settlement&, moment, row_hold)> settle = on_settle;
  std::function<purge_verdict(const record&, moment, row_hold)> purge = on_purge;
};

constexpr small clients_max = 3;
constexpr small requests_each = 2;  ///< The first, and one retry by whoever lost or was released.
constexpr small operator_claim = 100;
constexpr small late_claim = 110;  ///< Of the clients that come when all faults have stopped.

/// What the worlds of one exploration may contain.
struct scenario {
  const char* name;
  small clients = 2;
  bool mismatch = false;   ///< The last client sends another payload.
  bool park = false;       ///< The route parks lapsed claims, and a run may end as unknown.
  bool co_commit = false;  ///< The application may hold its row and complete in its transaction.
  bool settles = false;    ///< An operator looks once and settles by what was seen.
  bool retention = true;   ///< Retentions pass, and the purger removes.
  small crashes = 1;
  small lost_replies = 1;  ///< The operation was applied, or arrives late, or never.
  small echoes = 1;        ///< An operation may arrive twice, the second time at any later moment.
  small renewals = 1;      ///< Of each client.

  friend void PrintTo(const scenario& of, std::ostream* out) { *out << of.name; }
};

enum class phase : small {
  asking,   ///< Has sent no claim yet, or does not know its outcome.
  won,      ///< Knows that it has the claim; has not begun.
  running,  ///< The handler runs.
  ran,      ///< The run has ended; its outcome must be written.
  ended,    ///< Answered, gone, or crashed: takes no more steps.
};

enum class deed : small { none, claim, renew, complete, release, park, settle, purge, lapse, wall };

struct client {
  phase at = phase::asking;
  deed outcome = deed::none;  ///< What the run came to.
  small request = 0;
  small attempt = 0;
  small trusted = 0;  ///< The lease of its claim has not lapsed since it was stamped.
  small renewals = 0;
  small may_hold = 0;
};

/// The record, with what is left of its times.
struct row {
  small present = 0;
  record_state state = record_state::claimed;
  small attempt = 0;
  small claim = 0;
  small print = 0;
  small park = 0;
  small lease_left = 0;
  small expires_left = 0;
  small body_left = 0;
  small answer = 0;
  small body_dropped = 0;
  friend bool operator==(const row&, const row&) = default;
};

/// One thing that happens to the record: what is asked, and what the rules said to it.
struct act {
  deed what = deed::none;
  small claim = 0;    ///< Under which claim_id …
  small attempt = 0;  ///< … and attempt, where it is a write; what a settlement expects.
  small print = 0;
  small park = 0;
  small answer = 0;           ///< To complete or settle with; 0 settles as released.
  small held = 0;             ///< An open transaction has the row …
  small own_transaction = 0;  ///< … and this write is part of it.
  claim_verdict claim_said = claim_verdict::busy;
  write_verdict write_said = write_verdict::busy;
};

struct world {
  row found;
  small held = 0;  ///< An application has the row in an open transaction, under this fence.
  small held_claim = 0;
  small held_attempt = 0;
  small operator_looked = 0;  ///< 1: knows an attempt; 2: has sent a decision.
  small operator_expects = 0;
  small crashes = 0;
  small lost_replies = 0;
  small echoes = 0;
  act on_its_way;  ///< What was sent and may still arrive, again or late.
  std::array<client, clients_max> clients{};
};

/// One step a world can take.
struct step {
  std::string_view name;
  small who = 0;
  act did;
  world after;
};

inline small claim_of(small who, small request) {
  return static_cast<small>(1 + who * requests_each + request);
}

/// Anything made of small numbers alone, as bytes to compare and to hash.
struct same_bytes {
  template <class Value>
  static std::string_view of(const Value& value) {
    static_assert(std::has_unique_object_representations_v<Value>);
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  template <class Value>
  bool operator()(const Value& left, const Value& right) const {
    return of(left) == of(right);
  }
};
struct hash_of_bytes {
  template <class Value>
  std::size_t operator()(const Value& value) const {
    return std::hash<std::string_view>{}(same_bytes::of(value));
  }
};

/// The world before anything happened.
world beginning(const scenario& of);

class store;

/// The same world with alike clients in a fixed order: what follows differs in their names only.
world without_names(const world& now, const scenario& of);

/// Everything that can happen next, each with the world it leads to.
std::vector<step> steps_from(const world& now, const scenario& of, store& records);

}  // namespace callonce::model
