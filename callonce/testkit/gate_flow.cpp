#include <algorithm>
#include <stdexcept>
#include <utility>

#include <callonce/testkit/gate_flow.hpp>

namespace callonce::testkit::detail {

gate_rule_state::gate_rule_state(std::shared_ptr<gate_board> on, std::string looks_for,
                                 gate_action then, std::uint64_t first_skips)
    : board(std::move(on)),
      pattern(std::move(looks_for)),
      action(then),
      skip(first_skips),
      shorter_(pattern.size(), 0) {
  if (pattern.empty()) throw std::invalid_argument{"a gate cannot look for an empty pattern"};
  for (std::size_t length = 1; length < pattern.size(); ++length) {
    shorter_[length] = length == 1 ? 0 : follow(shorter_[length - 1], pattern[length - 1]);
  }
}

std::size_t gate_rule_state::follow(std::size_t matched, char next) const {
  while (matched > 0 && pattern[matched] != next) matched = shorter_[matched];
  return pattern[matched] == next ? matched + 1 : 0;
}

bool gate_rule_state::withholds() const {
  return action.what == gate_action::kind::cut_before || action.what == gate_action::kind::hold;
}

// Lets every rule see the next byte. Post: the rule that acts on it; null: none does.
gate_rule_state* gate_flow::match(char next) {
  gate_rule_state* acts = nullptr;
  for (std::size_t each = 0; each < rules_.size(); ++each) {
    gate_rule_state& rule = *rules_[each];
    matched_[each] = rule.follow(matched_[each], next);
    if (matched_[each] < rule.pattern.size()) continue;
    matched_[each] = 0;
    const bool fires = rule.fires_next();
    ++rule.matches;
    if (!fires) continue;
    if (rule.action.what == gate_action::kind::pass) {
      rule.fired = rule.done = true;
    } else if (acts == nullptr) {
      rule.fired = true;
      acts = &rule;
    }
  }
  return acts;
}

gate_rule_state* gate_flow::judge(gate_time now) {
  if (is_held() && now < held_until_) return nullptr;
  if (is_held()) std::exchange(holds_, nullptr)->done = true;
  matched_.resize(rules_.size(), 0);
  if (rules_.empty()) scanned_ = input_.size();
  while (scanned_ < input_.size()) {
    gate_rule_state* const rule = match(input_[scanned_++]);
    if (rule == nullptr) continue;
    // Less of the pattern is here than was matched when the rule was armed while it went by.
    const std::size_t start = scanned_ - std::min(scanned_, rule->pattern.size());
    switch (rule->action.what) {
      case gate_action::kind::hold:
        release(start);
        holds_ = rule;
        held_until_ = now + rule->action.time;
        return nullptr;
      case gate_action::kind::cut_before:
        release(start);
        drop_input();
        return rule;
      case gate_action::kind::cut_after:
        release(input_.size());
        return rule;
      case gate_action::kind::lose_reply:
      case gate_action::kind::pass:
        return rule;
    }
  }
  release(input_.size() - (at_end_ ? 0 : withheld()));
  return nullptr;
}

std::size_t gate_flow::withheld() const {
  std::size_t most = 0;
  for (std::size_t each = 0; each < rules_.size(); ++each) {
    const gate_rule_state& rule = *rules_[each];
    if (rule.withholds() && rule.fires_next()) most = std::max(most, matched_[each]);
  }
  return std::min(most, input_.size());
}

void gate_flow::release(std::size_t count) {
  output_.append(input_, 0, count);
  input_.erase(0, count);
  scanned_ -= std::min(scanned_, count);
}

void gate_flow::drop_input() noexcept {
  input_.clear();
  scanned_ = 0;
  holds_ = nullptr;
}

void gate_flow::drop_all() noexcept {
  drop_input();
  output_.clear();
}

}  // namespace callonce::testkit::detail
