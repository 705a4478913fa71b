#include <callonce/stores/postgres/judgement.hpp>

namespace callonce::postgres::detail {
namespace {

struct rule_of_write {
  const record* found;
  moment now;
  row_hold hold;

  write_step operator()(const group_commit::renew_call& of) const {
    return on_renew(found, of.by, now, hold);
  }
  write_step operator()(const group_commit::complete_call& of) const {
    return on_complete(found, of.by, of.answer, now, hold);
  }
  write_step operator()(const group_commit::release_call& of) const {
    return on_release(found, of.by, of.retention, now, hold);
  }
  write_step operator()(const group_commit::park_call& of) const {
    return on_park(found, of.by, hold);
  }
  write_step operator()(const group_commit::settle_call& of) const {
    return on_settle(found, of.decision, now, hold);
  }
  write_step operator()(const group_commit::claim_call&) const { return {}; }
};

const claim_request& wish_of(const group_commit::operation& one) {
  return std::get<group_commit::claim_call>(one.what).wish;
}

}  // namespace

claim_step judge_claim(const group_commit::operation& one, const record* found, moment now,
                       row_hold hold) {
  claim_step made = on_claim(found, wish_of(one), now, hold);
  const bool skipped = hold == row_hold::held && made.verdict == claim_verdict::in_progress &&
                       on_claim(found, wish_of(one), now).write.has_value();
  if (skipped && one.repeated) made.verdict = claim_verdict::busy;
  return made;
}

claim_reply refusal(const group_commit::operation& one, claim_verdict verdict, record found,
                    moment now) {
  const bool held = verdict == claim_verdict::in_progress || verdict == claim_verdict::busy;
  if (held && found.state == record_state::completed) return unseen(one, now);
  claim_reply made;
  made.verdict = verdict;
  made.current = std::move(found);
  made.judged_at = now;
  return made;
}

write_step judge_write(const group_commit::call& what, const record* found, moment now,
                       row_hold hold) {
  return std::visit(rule_of_write{found, now, hold}, what);
}

claim_reply unseen(const group_commit::operation& one, moment now) {
  claim_reply made;
  made.verdict = one.repeated ? claim_verdict::busy : claim_verdict::in_progress;
  made.current.id = wish_of(one).id;
  made.current.fingerprint = wish_of(one).fingerprint;
  made.current.lease_until = now.lease;
  made.judged_at = now;
  return made;
}

}  // namespace callonce::postgres::detail
