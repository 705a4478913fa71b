#include "tests/model/store.hpp"

#include <algorithm>
#include <memory>

namespace callonce::model {
namespace {

using ms = std::chrono::milliseconds;

constexpr moment the_moment{instant{ms{1000}}, instant{ms{1000}}};
constexpr ms one{1};
constexpr ms key_retention{2};

const identity& the_key() {
  static const identity it{scope_hash{}, key{"k"}};
  return it;
}

claim_id id_of(small number) {
  claim_id made{};
  made[0] = static_cast<std::byte>(number);
  return made;
}

fingerprint print_of(small number) {
  fingerprint made;
  made.value[0] = static_cast<std::byte>(number);
  return made;
}

claim_terms terms(bool park) {
  return {one, one, key_retention, 1024, park, {}};
}

// The stored answer's number is its status; a dropped body leaves the head.
std::shared_ptr<const stored_answer> answer(small number, bool dropped) {
  static std::array<std::array<std::shared_ptr<const stored_answer>, 2>, 256> made;
  auto& known = made[number][dropped ? 1 : 0];
  if (!known) {
    stored_answer fresh;
    fresh.status = number;
    if (dropped) {
      fresh.omitted = body_omitted::expired;
    } else {
      fresh.body = body_bytes{std::string{"body"}};
    }
    known = std::make_shared<const stored_answer>(std::move(fresh));
  }
  return known;
}

small left(instant until) {
  return static_cast<small>(std::max<ms::rep>(0, (until - the_moment.wall).count()));
}

record unpack(const row& from) {
  record made;
  made.id = the_key();
  made.fingerprint = print_of(from.print);
  made.state = from.state;
  made.attempt = from.attempt;
  made.claim_id = id_of(from.claim);
  made.terms = terms(from.park != 0);
  made.lease_until = the_moment.lease + ms{from.lease_left};
  made.created_at = the_moment.wall;
  made.completed_at = the_moment.wall;
  made.body_until = the_moment.wall + ms{from.body_left};
  made.expires_at = the_moment.wall + ms{from.expires_left};
  if (from.state == record_state::completed) {
    made.answer = answer(from.answer, from.body_dropped != 0);
  }
  return made;
}

row pack(const record& from) {
  row made;
  made.present = 1;
  made.state = from.state;
  made.attempt = static_cast<small>(from.attempt);
  made.claim = std::to_integer<small>(from.claim_id[0]);
  made.print = std::to_integer<small>(from.fingerprint.value[0]);
  made.park = from.terms.park ? 1 : 0;
  made.lease_left = from.state == record_state::claimed ? left(from.lease_until) : small{0};
  // Of a record that is not completed, it only matters whether its retention is over.
  made.expires_left = std::min<small>(left(from.expires_at), 1);
  if (from.state == record_state::completed) {
    made.expires_left = left(from.expires_at);
    made.body_left = left(from.body_until);
    made.answer = static_cast<small>(from.answer->status);
    made.body_dropped = from.answer->omitted == body_omitted::expired ? 1 : 0;
  }
  return made;
}

row_hold hold_of(const act& did) {
  return did.held != 0 && did.own_transaction == 0 ? row_hold::held : row_hold::free;
}

template <class Ask>
auto with_record(const row& found, Ask ask) {
  if (found.present == 0) return ask(static_cast<const record*>(nullptr));
  const record real = unpack(found);
  return ask(&real);
}

}  // namespace

act store::apply(row& found, const act& question) {
  const state asked{found, question};
  auto known = known_.find(asked);
  if (known == known_.end()) {
    state now = asked;
    switch (question.what) {
      case deed::none:
      case deed::lapse:
      case deed::wall:
        break;
      case deed::claim:
        ask_claim(now);
        break;
      case deed::settle:
        ask_settle(now);
        break;
      case deed::purge:
        ask_purge(now);
        break;
      case deed::renew:
      case deed::complete:
      case deed::release:
      case deed::park:
        ask_write(now);
        break;
    }
    known = known_.emplace(asked, now).first;
  }
  found = known->second.found;
  return known->second.did;
}

void store::ask_claim(state& now) const {
  act& did = now.did;
  const claim_request wish{the_key(), print_of(did.print), id_of(did.claim), terms(did.park != 0)};
  const claim_step said = with_record(now.found, [&](const record* found) {
    return by_.claim(found, wish, the_moment, hold_of(did));
  });
  if (said.write) now.found = pack(*said.write);
  did.claim_said = said.verdict;
}

void store::ask_write(state& now) const {
  act& did = now.did;
  const fence under{the_key(), id_of(did.claim), did.attempt};
  const write_step said = with_record(now.found, [&](const record* found) {
    switch (did.what) {
      case deed::renew:
        return by_.renew(found, under, the_moment, hold_of(did));
      case deed::complete:
        return by_.complete(found, under, answer(did.answer, false), the_moment, hold_of(did));
      case deed::release:
        return by_.release(found, under, one, the_moment, hold_of(did));
      default:
        return by_.park(found, under, hold_of(did));
    }
  });
  if (said.write) now.found = pack(*said.write);
  did.write_said = said.verdict;
}

void store::ask_settle(state& now) const {
  act& did = now.did;
  const settlement decision{the_key(), did.attempt, id_of(did.claim),
                            did.answer != 0 ? answer(did.answer, false) : nullptr, one};
  const write_step said = with_record(now.found, [&](const record* found) {
    return by_.settle(found, decision, the_moment, hold_of(did));
  });
  if (said.write) now.found = pack(*said.write);
  did.write_said = said.verdict;
}

void store::ask_purge(state& now) const {
  row& found = now.found;
  if (found.present == 0) return;
  switch (by_.purge(unpack(found), the_moment, hold_of(now.did))) {
    case purge_verdict::keep:
      break;
    case purge_verdict::drop_body:
      found.body_dropped = 1;
      break;
    case purge_verdict::park:
      found.state = record_state::parked;
      found.lease_left = 0;
      break;
    case purge_verdict::remove:
      found = row{};
      break;
  }
}

}  // namespace callonce::model
