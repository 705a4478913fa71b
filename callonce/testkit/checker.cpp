#include <algorithm>

#include <callonce/core/replay.hpp>
#include <callonce/testkit/checker.hpp>

#include "callonce/testkit/witness.hpp"

namespace callonce::testkit {
namespace {

// An owner begins with half of its lease and a tenth left by its own count, from before it asked;
// the rest is for clocks that run at different rates.
constexpr int dispatch_lease_percent = 55;

bool same(const stored_answer& left, const stored_answer& right) {
  // A body that has expired since is the one thing that may go.
  if (left.omitted == body_omitted::expired || right.omitted == body_omitted::expired) {
    return left.status == right.status && left.headers == right.headers;
  }
  return left == right;
}

}  // namespace

checker::checker(const world& in, std::function<moment()> store_now)
    : world_(in), store_now_(std::move(store_now)) {}

checker::~checker() = default;

store& checker::watch(store& inner, unsigned sender, bool with_effect) {
  witnesses_.push_back(std::make_unique<witness>(inner, *this, sender, with_effect));
  return *witnesses_.back();
}

observer& checker::facts_of(unsigned sender) {
  listeners_.push_back(std::make_unique<listener>(*this, sender));
  return *listeners_.back();
}

checker::claim_note* checker::dossier::find(const fence& by) {
  const auto found = std::find_if(claims.rbegin(), claims.rend(), [&](const claim_note& each) {
    return each.id == by.claim_id && each.attempt == by.attempt;
  });
  return found == claims.rend() ? nullptr : &*found;
}

bool checker::dossier::is_current(const fence& by) const {
  return !claims.empty() && claims.back().id == by.claim_id && claims.back().attempt == by.attempt;
}

checker::frozen_note* checker::dossier::current_answer() {
  if (frozen.empty() || frozen.back().until != world_time::max()) return nullptr;
  return &frozen.back();
}

checker::dossier& checker::about(const identity& id) {
  dossier& found = dossiers_[id];
  if (found.name.empty()) found.name = "key " + std::to_string(dossiers_.size());
  return found;
}

std::string checker::name_of(const identity& id) const {
  const auto found = dossiers_.find(id);
  return found == dossiers_.end() ? "key ?" : found->second.name;
}

void checker::add_line(std::string line) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(world_.now()).count();
  std::string time = std::to_string(us);
  time.insert(0, time.size() < 9 ? 9 - time.size() : 0, ' ');
  history_.push_back(time + " us  " + std::move(line));
}

void checker::broken(const identity* about_key, std::string rule) {
  std::string line = about_key != nullptr ? about(*about_key).name + ": " + rule : std::move(rule);
  trace([&] { return "BROKEN " + line; });
  broken_.push_back(std::move(line));
}

void checker::claim_won(unsigned sender, const claim_request& wish, const claim_reply& reply) {
  dossier& of = about(wish.id);
  const record& now = reply.current;
  if (reply.kind == claim_kind::repeat) {
    const fence own{wish.id, wish.claim_id, now.attempt};
    if (!of.is_current(own)) {
      broken(&wish.id, "a claim that had been lost was won again");
    } else {
      of.find(own)->lease_until = now.lease_until;
    }
    return;
  }
  const bool gone = reply.kind == claim_kind::first;
  const bool expired = of.expires_at <= (gone ? purged_to_ : reply.judged_at.wall);
  const bool new_life = reply.kind == claim_kind::first || reply.kind == claim_kind::after_expiry;
  if (!of.claims.empty()) {
    const claim_note& last = of.claims.back();
    const bool holds =
        of.state == record_state::claimed && last.lease_until > reply.judged_at.lease;
    if (holds) broken(&wish.id, "a live lease was taken over");
    const bool kept = last.run != nullptr && !last.completed && !last.abandoned && !last.settled;
    if (kept && of.state == record_state::claimed && steady_ && steady_(last.sender)) {
      broken(&wish.id, "a live owner lost its lease while its run goes on");
    }
    if (new_life && !expired) broken(&wish.id, "a record was forgotten before its time");
    if (!new_life && of.state == record_state::completed) {
      broken(&wish.id, "a completed record was claimed again");
    }
    if (!new_life && of.state == record_state::parked) {
      broken(&wish.id, "a parked record was claimed again");
    }
    if (!new_life && last.asks != wish.fingerprint) broken(&wish.id, "a mismatch won the claim");
    if (reply.kind != claim_kind::first && now.attempt <= last.attempt) {
      broken(&wish.id, "an attempt was counted twice");
    }
  }
  if (new_life) {
    if (frozen_note* old = of.current_answer()) old->until = world_.now();
  }
  claim_note note;
  note.id = wish.claim_id;
  note.attempt = now.attempt;
  note.asks = wish.fingerprint;
  note.sender = sender;
  note.lease = wish.terms.lease;
  note.lease_until = now.lease_until;
  of.claims.push_back(note);
  of.state = record_state::claimed;
  of.expires_at = now.expires_at;
}

void checker::claim_judged(unsigned sender, const claim_request& wish,
                           const result<claim_reply>& reply) {
  if (!reply) return;
  dossier& of = about(wish.id);
  if (reply->verdict == claim_verdict::claimed) {
    claim_won(sender, wish, *reply);
    return;
  }
  if (reply->current.state == record_state::parked && of.state == record_state::claimed) {
    of.state = record_state::parked;
    of.was_parked = true;
  }
  const bool own = of.state == record_state::claimed && !of.claims.empty() &&
                   of.claims.back().id == wish.claim_id;
  if (own && reply->verdict != claim_verdict::busy) {
    broken(&wish.id, "a claim was refused to its own owner");
  }
  if (reply->verdict == claim_verdict::completed) seen(reply->current);
}

void checker::renewed(const fence& by, const write_reply& reply) {
  if (reply.verdict != write_verdict::done) return;
  dossier& of = about(by.id);
  claim_note* note = of.find(by);
  if (note == nullptr || !of.is_current(by)) {
    broken(&by.id, "a lost claim was renewed");
    return;
  }
  note->lease_until = reply.current ? reply.current->lease_until : note->lease_until;
  of.expires_at = reply.current ? reply.current->expires_at : of.expires_at;
}

void checker::freeze(dossier& of, const callonce::claim_id& by,
                     const std::shared_ptr<const stored_answer>& answer) {
  of.state = record_state::completed;
  of.frozen.push_back({answer, by, world_time::max()});
}

void checker::completed(const fence& by, const std::shared_ptr<const stored_answer>& answer,
                        const write_reply& reply, bool with_effect) {
  if (reply.verdict == write_verdict::lease_lost && reply.current) seen(*reply.current);
  if (reply.verdict != write_verdict::done) return;
  dossier& of = about(by.id);
  if (!of.is_current(by)) {
    broken(&by.id, "a claim that had been lost completed the record");
    return;
  }
  if (reply.current) of.expires_at = reply.current->expires_at;
  if (const frozen_note* before = of.current_answer(); before == nullptr) {
    freeze(of, by.claim_id, answer);
    of.claims.back().completed = true;
    if (with_effect) ++of.claims.back().effects;
  } else if (!same(*before->answer, *answer)) {
    broken(&by.id, "a completed answer was replaced");
  }
}

void checker::released(const fence& by, const write_reply& reply) {
  if (reply.verdict != write_verdict::done) return;
  dossier& of = about(by.id);
  claim_note* note = of.find(by);
  if (note == nullptr || !of.is_current(by)) {
    broken(&by.id, "a lost claim was released");
    return;
  }
  if (note->run != nullptr) broken(&by.id, "a claim was released while its run goes on");
  if (note->uncertain) broken(&by.id, "a claim of uncertain outcome was released");
  note->released = true;
  of.state = record_state::released;
  if (reply.current) of.expires_at = reply.current->expires_at;
}

void checker::parked(const fence& by, const write_reply& reply) {
  if (reply.verdict != write_verdict::done) return;
  dossier& of = about(by.id);
  of.state = record_state::parked;
  of.was_parked = true;
}

void checker::settled(const settlement& by, const write_reply& reply) {
  if (reply.verdict != write_verdict::done || !reply.current) return;
  dossier& of = about(by.id);
  if (of.is_current({by.id, by.claim_id, reply.current->attempt})) return;
  if (!of.claims.empty()) of.claims.back().settled = true;
  claim_note note;
  note.id = by.claim_id;
  note.attempt = reply.current->attempt;
  note.asks = reply.current->fingerprint;
  note.settlement = true;
  of.claims.push_back(note);
  of.state = record_state::released;
  of.expires_at = reply.current->expires_at;
  if (by.answer) freeze(of, by.claim_id, by.answer);
}

void checker::purged() {
  purged_to_ = std::max(purged_to_, store_now_().wall);
}

void checker::seen(const record& found) {
  if (found.state != record_state::completed) return;
  dossier& of = about(found.id);
  const frozen_note* known = of.current_answer();
  if (known == nullptr) {
    broken(&found.id, "an answer came from nowhere");
  } else if (found.answer && !same(*known->answer, *found.answer)) {
    broken(&found.id, "a completed answer changed");
  }
}

std::shared_ptr<run_mark> checker::begins(unsigned sender, const claim& won,
                                          std::uint64_t exchange) {
  const fence& by = won.fenced_by();
  auto mark = std::make_shared<run_mark>(*this, runs_.size(), by);
  run_note run;
  run.id = by.id;
  run.by = by.claim_id;
  run.exchange = exchange;
  run.sender = sender;
  dossier& of = about(by.id);
  claim_note* note = of.find(by);
  trace([&] {
    return "node " + std::to_string(sender) + " run " + std::to_string(mark->number()) +
           " begins: " + of.name + " attempt " + std::to_string(by.attempt);
  });
  if (note == nullptr) {
    broken(&by.id, "a run began without a claim");
    runs_.push_back(std::move(run));
    return mark;
  }
  run.asks = note->asks;
  runs_.push_back(std::move(run));
  const instant now = store_now_().lease;
  if (note->started) broken(&by.id, "a claim was run twice");
  if (!of.is_current(by)) {
    if (!note->settled) broken(&by.id, "a run began after its claim was lost");
  } else if (note->lease_until - now < note->lease * dispatch_lease_percent / 100) {
    broken(&by.id, "a run began with too little of its lease left");
  }
  for (const claim_note& other : of.claims) {
    // An operator who frees a live claim has decided for its owner, who may not have begun yet.
    const bool goes_on = other.run != nullptr && !other.completed && !other.settled;
    if (goes_on && !note->settled && other.lease_until > now) {
      broken(&by.id, "two runs overlap while a lease holds");
    }
  }
  note->started = true;
  note->run = mark.get();
  return mark;
}

run_mark::~run_mark() {
  checker::dossier& of = tells_.about(by_.id);
  if (checker::claim_note* note = of.find(by_)) note->run = nullptr;
  tells_.trace([&] { return "run " + std::to_string(number_) + " is over"; });
}

void run_mark::answers(int status, std::string body, bool final) {
  checker::run_note& run = tells_.runs_[number_];
  run.status = status;
  run.body = std::move(body);
  run.final = final;
  tells_.trace(
      [&] { return "run " + std::to_string(number_) + " answers " + std::to_string(status); });
}

void run_mark::fails_after_commit(int status) {
  tells_.runs_[number_].failure = status;
}

void run_mark::ends_uncertain() {
  if (checker::claim_note* note = tells_.about(by_.id).find(by_)) note->uncertain = true;
}

void checker::ends(const std::function<bool(unsigned)>& clean) {
  for (auto& [id, of] : dossiers_) {
    int effects = 0;
    for (const claim_note& each : of.claims) {
      effects += each.effects;
      if (!each.started && !each.released && !each.settlement && !each.settled &&
          clean(each.sender)) {
        broken(&id, "a claim was won, and neither run nor released");
      }
    }
    if (effects > 1 && of.frozen.size() <= 1) broken(&id, "a committed effect happened twice");
  }
  for (const run_note& each : runs_) {
    const dossier& of = about(each.id);
    const claim_note& last = of.claims.back();
    const bool kept = last.id != each.by || last.completed || last.run != nullptr;
    if (each.final && !kept && clean(each.sender)) broken(&each.id, "a final answer was lost");
  }
}

}  // namespace callonce::testkit
