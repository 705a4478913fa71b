#include <algorithm>
#include <cstring>
#include <iterator>

#include <callonce/stores/group_commit/plan.hpp>

namespace callonce::group_commit {
namespace {

// A claim that nobody waits for any more never ran; its row stays as long as that of any other
// released claim.
constexpr std::chrono::hours given_back_retention{1};

void refuse(operation& one, errc why, answers& into) {
  if (one.who) into.push_back({std::move(one.who), make_error_code(why)});
  one.patience_ends = steady_time::max();
}

void withdraw(std::list<operation>& unsent, steady_time now, answers& into,
              std::size_t& queued_bytes) {
  for (auto at = unsent.begin(); at != unsent.end();) {
    const auto here = at++;
    if (here->patience_ends > now) continue;
    refuse(*here, errc::unavailable, into);
    queued_bytes -= here->bytes;
    unsent.erase(here);
  }
}

void leave_in_doubt(std::list<operation>& sent, steady_time now, answers& into) {
  for (operation& one : sent) {
    if (one.patience_ends <= now) refuse(one, errc::in_doubt, into);
  }
}

steady_time first_expiry(const std::list<operation>& among) {
  steady_time first = steady_time::max();
  for (const operation& one : among) first = std::min(first, one.patience_ends);
  return first;
}

}  // namespace

std::size_t plan::index_hash::operator()(const identity::index_type& of) const noexcept {
  std::size_t value = 0;
  std::memcpy(&value, of.data(), sizeof value);
  return value;
}

plan::plan(limits within) : within_(within) {}

bool plan::queue_is_full(std::size_t bytes) const noexcept {
  return writes_.size() + claims_.size() >= within_.queue_operations ||
         queued_bytes_ + bytes > within_.queue_bytes;
}

plan::queue& plan::queue_of(const operation& one) noexcept {
  return is_claim(one.what) ? claims_ : writes_;
}

void plan::enqueue(call what, std::unique_ptr<caller> who, steady_time patience_ends) {
  const std::size_t bytes = bytes_of(what);
  queue& into = is_claim(what) ? claims_ : writes_;
  into.push_back({std::move(what), std::move(who), patience_ends, bytes});
  queued_bytes_ += bytes;
}

answers plan::submit(call what, std::unique_ptr<caller> who, steady_time patience_ends) {
  answers refused;
  if (is_claim(what) && queue_is_full(bytes_of(what))) {
    refused.push_back({std::move(who), make_error_code(errc::unavailable)});
  } else {
    enqueue(std::move(what), std::move(who), patience_ends);
  }
  return refused;
}

bool plan::ready() const noexcept {
  return sent_.empty() && !(again_.empty() && writes_.empty() && claims_.empty());
}

// False when the batch has no room left for what is next.
bool plan::take_from(queue& waiting) {
  for (auto at = waiting.begin(); at != waiting.end();) {
    const auto here = at++;
    const bool fits = sent_.empty() || sent_bytes_ + here->bytes <= within_.batch_bytes;
    if (!fits || sent_.size() == within_.batch_operations) return false;
    if (!sent_keys_.insert(identity_of(here->what).index()).second) continue;
    sent_bytes_ += here->bytes;
    queued_bytes_ -= here->bytes;
    sent_.splice(sent_.end(), waiting, here);
  }
  return true;
}

batch plan::next_batch() {
  if (!again_.empty()) {
    sent_ = std::move(again_.front());
    again_.pop_front();
  } else {
    sent_bytes_ = 0;
    sent_keys_.clear();
    // While one write is left behind no claim goes: it might overtake a write of its own key.
    if (take_from(writes_)) take_from(claims_);
  }
  batch made;
  made.reserve(sent_.size());
  for (const operation& one : sent_) made.push_back(&one);
  return made;
}

void plan::settle(operation& sent, outcome what, answers& into) {
  if (sent.who) {
    // That the repetition had no effect says nothing about the transaction before it.
    const bool failed = !what && what.error() == make_error_code(errc::unavailable);
    if (failed && sent.repeated) what = make_error_code(errc::in_doubt);
    into.push_back({std::move(sent.who), std::move(what)});
    return;
  }
  if (!what || !is_claim(sent.what)) return;
  const auto& met = std::get<claim_reply>(*what);
  if (met.verdict != claim_verdict::claimed) return;
  const fence won{met.current.id, met.current.claim_id, met.current.attempt};
  enqueue(release_call{won, given_back_retention}, nullptr, steady_time::max());
}

answers plan::applied(std::vector<outcome> results) {
  answers made;
  made.reserve(results.size());
  auto result_of = results.begin();
  for (operation& one : sent_) settle(one, std::move(*result_of++), made);
  sent_.clear();
  return made;
}

void plan::split() {
  const auto middle = std::next(sent_.begin(), static_cast<std::ptrdiff_t>(sent_.size() / 2));
  queue second;
  second.splice(second.begin(), sent_, middle, sent_.end());
  again_.push_front(std::move(second));
  again_.push_front(std::move(sent_));
}

void plan::put_back() {
  if (sent_.front().repeated) {
    again_.push_front(std::move(sent_));
    return;
  }
  while (!sent_.empty()) {
    const auto last = std::prev(sent_.end());
    const bool unwanted = is_claim(last->what) && !last->who;
    if (unwanted) {
      sent_.pop_back();
      continue;
    }
    queued_bytes_ += last->bytes;
    queue& back = queue_of(*last);
    back.splice(back.begin(), sent_, last);
  }
}

answers plan::failed(batch_fault why) {
  answers made;
  switch (why) {
    case batch_fault::refused:
      if (sent_.size() == 1) {
        settle(sent_.front(), make_error_code(errc::unavailable), made);
      } else {
        split();
      }
      break;
    case batch_fault::not_applied:
      put_back();
      break;
    case batch_fault::in_doubt:
      for (operation& one : sent_) one.repeated = true;
      again_.push_front(std::move(sent_));
      break;
  }
  sent_.clear();
  return made;
}

answers plan::expire(steady_time now) {
  answers made;
  withdraw(writes_, now, made, queued_bytes_);
  withdraw(claims_, now, made, queued_bytes_);
  leave_in_doubt(sent_, now, made);
  for (queue& each : again_) {
    std::size_t not_queued = 0;
    if (each.front().repeated) {
      leave_in_doubt(each, now, made);
    } else {
      withdraw(each, now, made, not_queued);
    }
  }
  again_.remove_if([](const queue& each) { return each.empty(); });
  return made;
}

steady_time plan::next_expiry() const {
  steady_time first = std::min({first_expiry(writes_), first_expiry(claims_), first_expiry(sent_)});
  for (const queue& each : again_) first = std::min(first, first_expiry(each));
  return first;
}

answers plan::abandon() {
  answers made;
  for (queue* each : {&writes_, &claims_}) {
    for (operation& one : *each) refuse(one, errc::unavailable, made);
    each->clear();
  }
  for (queue& each : again_) {
    for (operation& one : each) {
      refuse(one, one.repeated ? errc::in_doubt : errc::unavailable, made);
    }
  }
  again_.clear();
  queued_bytes_ = 0;
  return made;
}

}  // namespace callonce::group_commit
