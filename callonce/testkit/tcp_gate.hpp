#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace callonce::testkit {

namespace detail {
struct gate_rule_state;
}

/// What a gate does with a connection on which it finds a pattern.
///
/// A connection that a rule cuts ends differently at its two ends: the client gets a reset, the
/// server gets everything that was passed on and then the end of the stream, and what it still says
/// is thrown away.
struct gate_action {
  enum class kind { pass, cut_before, cut_after, lose_reply, hold };

  /// Does nothing: the rule counts, and can be waited for.
  static constexpr gate_action pass() { return {kind::pass, {}}; }
  /// Passes on what came before the pattern, and cuts the connection.
  static constexpr gate_action cut_before() { return {kind::cut_before, {}}; }
  /// Passes on the pattern with all that was read together with it, and cuts the connection when
  /// that is written. Pre: where the other end must get a whole message, the pattern is its end.
  static constexpr gate_action cut_after() { return {kind::cut_after, {}}; }
  /// Passes on the pattern, throws away all that the server says from then on, and cuts the
  /// connection once the server has said something: it has acted, and the client cannot know.
  /// Found in a reply, the same as `cut_before`.
  /// Pre: what was asked before is answered; or else the rest of that answer counts as the answer.
  /// `on_reply` with `cut_before` on the answer itself has no such condition.
  static constexpr gate_action lose_reply() { return {kind::lose_reply, {}}; }
  /// Passes on what came before the pattern; the pattern and what follows it wait so long.
  static constexpr gate_action hold_for(std::chrono::milliseconds time) {
    return {kind::hold, time};
  }

  kind what = kind::pass;
  std::chrono::milliseconds time{0};  ///< Of `hold` only.
};

/// A pattern that a gate looks for, and what has become of it. Copies tell of the same rule.
/// Threads: any; it may outlive its gate.
class gate_rule {
 public:
  explicit gate_rule(std::shared_ptr<detail::gate_rule_state> state) : state_(std::move(state)) {}

  /// How often the pattern was found, on all connections, also when the rule did nothing.
  std::uint64_t matches() const;
  bool fired() const;
  bool done() const;

  /// Waits until the pattern was found often enough and the action began.
  /// Errors: false when `patience` ran out.
  [[nodiscard]] bool wait_fired(std::chrono::milliseconds patience) const;
  /// Waits until the action was carried out: the connection is cut, the held bytes go on. A
  /// connection that ends otherwise before that leaves its rule undone.
  /// Errors: false when `patience` ran out.
  [[nodiscard]] bool wait_done(std::chrono::milliseconds patience) const;
  /// Errors: false when `patience` ran out before the pattern was found `count` times.
  [[nodiscard]] bool wait_matches(std::uint64_t count, std::chrono::milliseconds patience) const;

 private:
  std::shared_ptr<detail::gate_rule_state> state_;
};

/// How many bytes of one direction came into a gate, and how many of them left it.
struct gate_bytes {
  std::uint64_t read = 0;
  std::uint64_t passed = 0;
};

/// What a gate has seen so far.
struct gate_counts {
  std::uint64_t accepted = 0;  ///< Connections since the beginning.
  std::uint64_t present = 0;   ///< Connections that are not over yet.
  gate_bytes requests;         ///< From the client to the server.
  gate_bytes replies;
};

/// A TCP port in front of one server: it passes bytes both ways until it is told to lose, delay or
/// cut them. It knows no protocol; under TLS no pattern is ever found.
/// Threads: any number may call at once; one thread of its own moves the bytes. What a call asks
/// for is in force when it returns.
class tcp_gate {
 public:
  /// A gate on a free loopback port, open. The server need not listen yet.
  /// Errors: throws std::system_error.
  explicit tcp_gate(std::uint16_t to_port);
  /// The same before a server on a UNIX socket.
  explicit tcp_gate(const std::filesystem::path& to_socket);
  /// Resets all connections.
  ~tcp_gate();
  tcp_gate(const tcp_gate&) = delete;
  tcp_gate& operator=(const tcp_gate&) = delete;

  std::uint16_t port() const noexcept;

  /// Everything passes.
  /// Errors: throws std::system_error when the port cannot be listened on again.
  void open();
  /// As if the server were down: connections are reset, new ones refused.
  void refuse();
  /// As if the network were: connections are taken in, and nothing passes, not even their end. As
  /// with TCP nothing is lost either: after `open` all of it arrives, late.
  void black_hole();
  /// What the server says vanishes, its end of the stream too; requests pass. When another call
  /// ends this, the connections that have lost bytes are reset: streams have no holes.
  void drop_replies();
  /// Resets the present connections at both ends, at once: bytes on their way may be lost.
  void cut();

  /// Looks for `pattern` in what all clients send from now on, across the bounds of reads and
  /// writes but not of connections. The rule fires once, when it has been found `skip` + 1 times.
  /// Of several rules one acts on a match, the first; the others wait for the next.
  ///
  /// Bytes that may be the beginning of the pattern of an armed `cut_before` or `hold_for` wait for
  /// the bytes after them. Errors: throws std::invalid_argument when the pattern is empty.
  gate_rule on_request(std::string pattern, gate_action does, std::uint64_t skip = 0);
  /// The same for what the server says.
  gate_rule on_reply(std::string pattern, gate_action does, std::uint64_t skip = 0);

  gate_counts counts() const;
  /// Waits until the counts are as wanted. Pre: the condition does not call the gate.
  /// Errors: false when `patience` ran out.
  [[nodiscard]] bool wait_counts(const std::function<bool(const gate_counts&)>& are_so,
                                 std::chrono::milliseconds patience) const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace callonce::testkit
