#include <callonce/stores/postgres/judgement.hpp>
#include <callonce/stores/postgres/row_connection.hpp>

namespace callonce::postgres::detail {
namespace {

using group_commit::operation;
using group_commit::outcome;
using group_commit::reply;

// What the rules say: the answer, and what has to be written to make it true.
struct judgement {
  std::optional<record> write;
  reply says;
};

judgement judge(const operation& one, const record* found, moment now, row_hold hold) {
  if (group_commit::is_claim(one.what)) {
    claim_step made = judge_claim(one, found, now, hold);
    if (!made.write) return {std::nullopt, refusal(one, made.verdict, *found, now)};
    claim_reply says;
    says.verdict = made.verdict;
    says.kind = made.kind;
    says.current = *made.write;
    return {std::move(made.write), std::move(says)};
  }
  write_step made = judge_write(one.what, found, now, hold);
  write_reply says;
  says.verdict = made.verdict;
  says.already = made.verdict == write_verdict::done && !made.write;
  if (made.verdict != write_verdict::done && found != nullptr) says.current = *found;
  return {std::move(made.write), std::move(says)};
}

// What a write under a fence, or a settlement, expects to find.
struct expected_attempt {
  std::uint32_t operator()(const group_commit::claim_call&) const { return 0; }
  std::uint32_t operator()(const group_commit::settle_call& of) const {
    return of.decision.expected_attempt;
  }
  std::uint32_t operator()(const auto& of) const { return of.by.attempt; }
};

// The answer's row, and the audit's.
std::vector<message> besides(const operation& one, const row& found, const record& next,
                             moment now) {
  std::vector<message> made;
  const bool was_completed = found.current.state == record_state::completed;
  const bool is_completed = next.state == record_state::completed;
  if (is_completed && !was_completed) made.push_back(insert_answer(found.id, *next.answer));
  if (was_completed && !is_completed) made.push_back(delete_answer(found.id));
  if (const auto* settled = std::get_if<group_commit::settle_call>(&one.what)) {
    made.push_back(note(next, settled->reason, now.wall));
  }
  return made;
}

bool is_completed(const row_transaction& over) {
  return over.exists() && over.found()->current.state == record_state::completed;
}

// For a row that was another at each look: somebody is at it.
reply somebody_has_it(const operation& one, moment now) {
  if (group_commit::is_claim(one.what)) return unseen(one, now);
  write_reply made;
  made.verdict = write_verdict::busy;
  return made;
}

outcome stamped(reply with, moment now, steady_time sent_at) {
  std::visit(
      [&](auto& each) {
        each.judged_at = now;
        each.sent_at = sent_at;
      },
      with);
  return with;
}

std::vector<outcome> alone(outcome of_one) {
  std::vector<outcome> made;
  made.push_back(std::move(of_one));
  return made;
}

}  // namespace

group_commit::limits row_connection::one_by_one() {
  group_commit::limits made;
  made.batch_operations = 1;
  return made;
}

group_commit::connection::results row_connection::apply(std::span<const operation* const> batch) {
  const operation& one = *batch.front();
  const auto send = [this](std::span<const message> all) { return wire_.ask(all); };
  for (int tries = 1;; ++tries) {
    sent_at_ = wire_.in().now();
    row_transaction over{send, clocks_, group_commit::identity_of(one.what)};
    const step ended = apply_once(one, over);
    if (ended == step::done) return alone(std::move(outcome_));
    if (ended == step::failed) {
      wire_.roll_back_after(over.said());
      if (tries == most_tries || !is_contention(over.said())) return explain(over.said(), 1);
    } else if (tries == most_tries) {
      return alone(stamped(somebody_has_it(one, over.now()), over.now(), sent_at_));
    }
  }
}

step row_connection::apply_once(const operation& one, row_transaction& over) {
  const bool claims = group_commit::is_claim(one.what);
  std::optional<std::uint32_t> attempt;
  if (!claims) attempt = std::visit(expected_attempt{}, one.what);
  if (const step looked = over.look(attempt); looked != step::done) return looked;
  if (claims && !over.exists()) return claim_first(one, over);
  // A claim locks nothing that it would not write to: duplicates must not get in their owner's way.
  const record* found = over.exists() && over.found() ? &over.found()->current : nullptr;
  if (claims && found != nullptr && judge(one, found, over.now(), row_hold::free).write) {
    if (const step locked = over.lock(found->attempt); locked != step::done) return locked;
  }
  return conclude(one, over);
}

// Somebody's uncommitted insert of the key shows only by its lock.
step row_connection::claim_first(const operation& one, row_transaction& over) {
  const auto& wish = std::get<group_commit::claim_call>(one.what).wish;
  claim_step first = on_claim(nullptr, wish, over.now());
  const step ended = over.insert(*first.write);
  reply says = unseen(one, over.now());
  if (ended == step::done) {
    claim_reply won;
    won.verdict = first.verdict;
    won.kind = first.kind;
    won.current = *std::move(first.write);
    says = std::move(won);
  } else if (ended == step::failed && over.said().fault() == "55P03") {
    wire_.roll_back_after(over.said());
  } else {
    return ended;
  }
  outcome_ = stamped(std::move(says), over.now(), sent_at_);
  return step::done;
}

step row_connection::conclude(const operation& one, row_transaction& over) {
  if (over.exists() && !over.found()) {
    outcome_ = over.found().error();
    return over.commit();
  }
  const record* found = over.exists() ? &over.found()->current : nullptr;
  if (found == nullptr && group_commit::is_claim(one.what)) {
    const step ended = over.commit();
    return ended == step::done ? step::moved : ended;
  }
  judgement made = judge(one, found, over.now(), over.hold());
  step ended = step::done;
  if (made.write) {
    ended = over.overwrite(*made.write, besides(one, *over.found(), *made.write, over.now()));
  } else if (is_completed(over)) {
    ended = over.read_answer();
    if (ended == step::done) made = judge(one, found, over.now(), over.hold());
  } else {
    ended = over.commit();
  }
  if (ended == step::done) outcome_ = stamped(std::move(made.says), over.now(), sent_at_);
  return ended;
}

}  // namespace callonce::postgres::detail
