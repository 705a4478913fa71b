#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::testkit::detail {

using gate_time = std::chrono::steady_clock::time_point;

/// What the gate's thread and those who wait for it have in common.
struct gate_board {
  std::mutex mutex;
  std::condition_variable changed;
};

/// A pattern, what to do about it, and what has become of it.
/// Threads: under the board's mutex.
struct gate_rule_state {
  /// Errors: throws std::invalid_argument when the pattern is empty.
  gate_rule_state(std::shared_ptr<gate_board> on, std::string looks_for, gate_action then,
                  std::uint64_t first_skips);

  /// How much of the pattern is matched when `next` follows `matched` bytes of it. Pre: not all of
  /// it is matched yet.
  std::size_t follow(std::size_t matched, char next) const;
  bool fires_next() const { return !fired && matches >= skip; }
  /// Whether the action concerns the pattern's own bytes, so that they must not go on too early.
  bool withholds() const;

  const std::shared_ptr<gate_board> board;
  const std::string pattern;
  const gate_action action;
  const std::uint64_t skip;
  std::uint64_t matches = 0;
  bool fired = false;
  bool done = false;

 private:
  std::vector<std::size_t> shorter_;  ///< For each length matched, the next shorter candidate.
};

using gate_rules = std::vector<std::shared_ptr<gate_rule_state>>;

/// The bytes of one direction of one connection: which of them go on, and when. No socket, no
/// clock.
class gate_flow {
 public:
  /// Pre: `rules` outlive the flow and are only added to.
  explicit gate_flow(const gate_rules& rules) : rules_(rules) {}

  void take(std::string_view bytes) { input_.append(bytes); }
  /// Nothing more comes: nothing waits for what would follow it.
  void end() noexcept { at_end_ = true; }

  /// Moves what may go on to the output. Post: a rule whose action is up to the connection; then
  /// there may be more to judge. Null: there is not.
  gate_rule_state* judge(gate_time now);

  std::string& output() noexcept { return output_; }
  const std::string& output() const noexcept { return output_; }
  bool is_held() const noexcept { return holds_ != nullptr; }
  gate_time held_until() const noexcept { return held_until_; }
  bool is_empty() const noexcept { return input_.empty() && output_.empty(); }
  /// Throws away what is not judged yet.
  void drop_input() noexcept;
  void drop_all() noexcept;

 private:
  gate_rule_state* match(char next);
  void release(std::size_t count);
  std::size_t withheld() const;

  const gate_rules& rules_;
  std::vector<std::size_t> matched_;  ///< For each rule, how much of its pattern.
  std::string input_;
  std::size_t scanned_ = 0;  ///< That much of the input is matched already, and waits.
  std::string output_;
  gate_rule_state* holds_ = nullptr;
  gate_time held_until_{};
  bool at_end_ = false;
};

}  // namespace callonce::testkit::detail
