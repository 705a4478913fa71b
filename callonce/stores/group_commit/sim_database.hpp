#pragma once

// For group_commit_sim_test: a database in memory that applies core/transition and misbehaves on
// demand, and that remembers everything it ever made durable.

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <callonce/stores/group_commit/plan.hpp>

namespace callonce::group_commit::sim {

using claim_name = std::pair<std::string, claim_id>;  // A key's bytes and a claim of it.

inline std::string key_of(const identity& id) {
  return std::string{id.key().bytes()};
}

/// What a statement saw and would write.
struct effect {
  call of;
  outcome met;
  std::optional<record> write;
};
using transaction = std::vector<effect>;

/// A table of records and its history.
class database {
 public:
  moment now{};

  transaction execute(const std::vector<const operation*>& sent) const {
    transaction made;
    for (const operation* each : sent) made.push_back(execute(*each));
    return made;
  }

  void commit(const transaction& all) {
    for (const effect& each : all) {
      if (!each.write) continue;
      const record& next = *each.write;
      const claim_name by{key_of(next.id), next.claim_id};
      if (next.state == record_state::claimed) {
        const auto winner = winners_.try_emplace({by.first, next.attempt}, by.second).first;
        if (winner->second != by.second) has_two_winners_ = true;
      }
      ended_.insert({by, next.state});
      rows_[next.id] = next;
    }
  }

  /// From now on, until `release_rows`, nobody else can write these rows.
  void hold(const identity& id) { ++holds_[id]; }
  void let_go(const identity& id) { --holds_[id]; }

  /// Whether some attempt has ever been won twice.
  bool has_two_winners() const { return has_two_winners_; }
  /// Whether this state was ever durable under this claim.
  bool was(const claim_name& by, record_state state) const { return ended_.contains({by, state}); }
  const std::unordered_map<identity, record, identity_hash>& rows() const { return rows_; }

 private:
  bool is_held(const identity& id) const {
    const auto at = holds_.find(id);
    return at != holds_.end() && at->second > 0;
  }

  effect execute(const operation& one) const {
    const identity& id = identity_of(one.what);
    const auto at = rows_.find(id);
    const record* found = at == rows_.end() ? nullptr : &at->second;
    const row_hold hold = is_held(id) ? row_hold::held : row_hold::free;
    effect made;
    made.of = one.what;
    if (const auto* asked = std::get_if<claim_call>(&one.what)) {
      made.met = claim(found, asked->wish, one.repeated, hold, made.write);
    } else {
      write_step step = write(found, one.what, hold);
      if (hold == row_hold::held) step.write.reset();
      write_reply met;
      met.verdict = step.verdict;
      made.met = reply{met};
      made.write = std::move(step.write);
    }
    return made;
  }

  outcome claim(const record* found, const claim_request& wish, bool repeated, row_hold hold,
                std::optional<record>& into) const {
    claim_step step = on_claim(found, wish, now, hold);
    claim_reply met;
    met.verdict = step.verdict;
    met.kind = step.kind;
    if (step.write) met.current = *step.write;
    const bool not_seen = step.write || step.verdict == claim_verdict::in_progress;
    if (hold == row_hold::held && not_seen) {
      met.verdict = repeated ? claim_verdict::busy : claim_verdict::in_progress;
    } else {
      into = std::move(step.write);
    }
    return reply{met};
  }

  write_step write(const record* found, const call& what, row_hold hold) const {
    struct rules {
      const record* found;
      moment now;
      row_hold hold;
      write_step operator()(const claim_call&) const { return {}; }
      write_step operator()(const renew_call& of) const {
        return on_renew(found, of.by, now, hold);
      }
      write_step operator()(const complete_call& of) const {
        return on_complete(found, of.by, of.answer, now, hold);
      }
      write_step operator()(const release_call& of) const {
        return on_release(found, of.by, of.retention, now, hold);
      }
      write_step operator()(const park_call& of) const { return on_park(found, of.by, hold); }
      write_step operator()(const settle_call& of) const {
        return on_settle(found, of.decision, now, hold);
      }
    };
    return std::visit(rules{found, now, hold}, what);
  }

  std::unordered_map<identity, record, identity_hash> rows_;
  std::unordered_map<identity, int, identity_hash> holds_;
  std::map<std::pair<std::string, std::uint32_t>, claim_id> winners_;
  bool has_two_winners_ = false;
  std::set<std::pair<claim_name, record_state>> ended_;
};

}  // namespace callonce::group_commit::sim
