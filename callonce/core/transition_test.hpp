#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <callonce/core/transition.hpp>

// Every situation that a store can find a record in, for the tests of the transition tables.
namespace callonce::situations {

using namespace std::chrono_literals;
using state = record_state;
using verdict = claim_verdict;

// The lease clock and the wall clock differ, so that a rule that mixes them is seen.
inline constexpr moment now{instant{1000s}, instant{500'000s}};
inline constexpr std::uint32_t attempt = 3;

inline claim_id id_of(int number) {
  claim_id made{};
  made[0] = static_cast<std::byte>(number);
  return made;
}
inline const claim_id mine = id_of(1);
inline const claim_id theirs = id_of(2);

inline std::shared_ptr<const stored_answer> answer(const char* body) {
  auto made = std::make_shared<stored_answer>();
  made->status = 201;
  made->body = std::string{body};
  return made;
}

inline fingerprint print_of(int number, int rule = 1) {
  fingerprint made;
  if (rule != 1) made.rule = fingerprint_rule::from_text("rule" + std::to_string(rule));
  made.value[0] = static_cast<std::byte>(number);
  return made;
}

inline claim_terms terms(bool park = false) {
  return {10s, 24h, 7 * 24h, 1024, park, "charges"};
}

/// What a store finds, and how it compares with what is asked.
struct situation {
  state is = state::claimed;
  bool own = false;  ///< The claim's own claim_id is in the row.
  bool expired = false;
  bool lapsed = false;
  bool held = false;
  bool record_parks = false;
  bool wish_parks = false;
  int print = 0;  ///< 0: the same, 1: another, 2: another under another rule.
};

inline std::string described(const situation& s) {
  return std::string{to_string(s.is)} + (s.own ? " own" : " foreign") +
         (s.expired ? " expired" : "") + (s.lapsed ? " lapsed" : " alive") +
         (s.held ? " held" : "") + (s.record_parks ? " record-parks" : "") +
         (s.wish_parks ? " wish-parks" : "") + " print " + std::to_string(s.print);
}

inline record found_in(const situation& s) {
  record made;
  made.id = identity{scope_hash{}, key{"k"}};
  made.fingerprint = print_of(1);
  made.state = s.is;
  made.attempt = attempt;
  made.claim_id = s.own ? mine : theirs;
  made.terms = terms(s.record_parks);
  made.created_at = now.wall - 1h;
  made.lease_until = now.lease + (s.lapsed ? 0s : 4s);
  made.expires_at = now.wall + (s.expired ? 0s : 1h);
  if (s.is == state::completed) {
    made.completed_at = now.wall - 1h;
    made.body_until = now.wall + 1min;
    made.answer = answer("stored");
  }
  return made;
}

inline claim_request wish_in(const situation& s) {
  const int rule = s.print == 2 ? 2 : 1;
  return {identity{scope_hash{}, key{"k"}}, print_of(s.print == 0 ? 1 : 2, rule), mine,
          terms(s.wish_parks)};
}

template <class Visit>
void for_each_situation(Visit visit) {
  for (const state is : {state::claimed, state::completed, state::released, state::parked}) {
    for (int bits = 0; bits < 64; ++bits) {
      for (int print = 0; print < 3; ++print) {
        const auto bit = [&](int at) { return (bits >> at & 1) != 0; };
        const situation s{is, bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), print};
        visit(s);
      }
    }
  }
}

}  // namespace callonce::situations
