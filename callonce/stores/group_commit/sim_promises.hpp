#pragma once

// For group_commit_sim_test: what a lane promises, checked at every step of a world.

#include <deque>
#include <optional>

#include "sim_database.hpp"

namespace callonce::group_commit::sim {

/// One claim and whoever believes in it.
struct client {
  identity id;
  claim_id claim{};
  fence by;
  bool told_claimed = false;
  bool ends_itself = false;  // It has asked for a completion, release or park.
  int asked_again = 0;
};

/// One call of a client and what became of it.
struct asked {
  std::shared_ptr<client> by;
  call what;
  int answers = 0;
  bool in_doubt = false;
  bool unavailable = false;
};

/// Whether a transaction became durable after the lane had given it up.
enum class is_late : bool { no, yes };

/// Remembers what was asked and answered; names the first promise that is broken.
class promises {
 public:
  const std::optional<std::string>& broken() const { return broken_; }
  void touched_late(const std::string& key) { touched_late_.insert(key); }

  std::size_t note(const std::shared_ptr<client>& by, const call& what) {
    owners_[{key_of(by->id), by->claim}] = by;
    asked_.push_back({by, what});
    return asked_.size() - 1;
  }

  void check_refused(const call& what, const answers& refused) {
    if (!is_claim(what) && !refused.empty()) breaks("full queue refused a write", what);
  }

  void check_batch(const batch& sent, const limits& within) {
    std::set<std::string> keys;
    bool claims_began = false;
    for (const operation* each : sent) {
      if (!keys.insert(key_of(identity_of(each->what))).second) {
        breaks("one key twice in a batch", each->what);
      }
      if (claims_began && !is_claim(each->what)) breaks("a write went after a claim", each->what);
      claims_began = is_claim(each->what);
    }
    if (sent.empty() || sent.size() > within.batch_operations) breaks("wrong size of a batch", {});
  }

  /// Call with what becomes durable.
  void check_commit(const transaction& all, const database& in, is_late late) {
    if (in.has_two_winners()) breaks("two winners of one attempt", {});
    for (const effect& each : all) {
      const auto* call = std::get_if<complete_call>(&each.of);
      if (call != nullptr && late == is_late::no) {
        decided_.insert({key_of(call->by.id), call->by.claim_id});
      }
      if (!each.write || !std::holds_alternative<release_call>(each.of)) continue;
      const client* owner = owner_of(*each.write);
      if (owner != nullptr && owner->told_claimed && !owner->ends_itself) {
        breaks("a claim was given back that its client believes in", each.of);
      }
    }
  }

  const asked& check_answer(std::size_t number, const outcome& what, const database& in) {
    asked& about = asked_[number];
    if (++about.answers > 1) breaks("answered twice", about.what);
    if (!what) {
      about.in_doubt = what.error() == make_error_code(errc::in_doubt);
      about.unavailable = !about.in_doubt;
    } else if (!is_true(about, *what, in)) {
      breaks("answered before it was durable", about.what);
    }
    return about;
  }

  void check_end(const plan& lane, const database& in) {
    if (lane.ready()) breaks("work was left behind", {});
    for (const asked& each : asked_) {
      if (each.answers != 1) breaks("never answered", each.what);
      const claim_name by{key_of(each.by->id), each.by->claim};
      const bool asked_once = each.by->asked_again == 0 && is_claim(each.what);
      if (each.unavailable && asked_once && in.was(by, record_state::claimed)) {
        breaks("called unavailable and yet applied", each.what);
      }
      const bool may_be_dropped = by.first == "poison" || !each.in_doubt ||
                                  !std::holds_alternative<complete_call>(each.what);
      if (!may_be_dropped && !decided_.contains(by)) breaks("a completion dropped", each.what);
    }
    for (const auto& [id, row] : in.rows()) {
      const client* owner = owner_of(row);
      const bool strange = touched_late_.contains(key_of(id)) || owner == nullptr;
      if (!strange && row.state == record_state::claimed && !owner->told_claimed) {
        breaks("a claim that nobody waited for was not given back", {});
      }
    }
  }

 private:
  struct is_durable {
    const database& in;
    const claim_name& by;
    bool operator()(const complete_call&) const { return in.was(by, record_state::completed); }
    bool operator()(const release_call&) const { return in.was(by, record_state::released); }
    bool operator()(const park_call&) const { return in.was(by, record_state::parked); }
    bool operator()(const auto&) const { return in.was(by, record_state::claimed); }
  };

  static bool is_true(const asked& about, const reply& said, const database& in) {
    const auto* met = std::get_if<claim_reply>(&said);
    const bool says_yes = met != nullptr
                              ? met->verdict == claim_verdict::claimed
                              : std::get<write_reply>(said).verdict == write_verdict::done;
    const claim_name by{key_of(about.by->id), about.by->claim};
    return !says_yes || std::visit(is_durable{in, by}, about.what);
  }

  const client* owner_of(const record& row) const {
    const auto at = owners_.find({key_of(row.id), row.claim_id});
    return at == owners_.end() ? nullptr : at->second.get();
  }

  void breaks(const std::string& promise, const std::optional<call>& by) {
    if (!broken_) broken_ = promise + (by ? " at key " + key_of(identity_of(*by)) : "");
  }

  std::deque<asked> asked_;
  std::map<claim_name, std::shared_ptr<client>> owners_;
  std::set<claim_name> decided_;
  std::set<std::string> touched_late_;
  std::optional<std::string> broken_;
};

}  // namespace callonce::group_commit::sim
