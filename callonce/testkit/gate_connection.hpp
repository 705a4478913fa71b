#pragma once

#include <optional>

#include <poll.h>

#include <callonce/testkit/gate_flow.hpp>
#include <callonce/testkit/gate_socket.hpp>

namespace callonce::testkit::detail {

/// What happens to all connections, besides the rules.
enum class gate_mode { open, refuse, black_hole, drop_replies };

/// What all connections through a gate have in common.
struct gate_state {
  explicit gate_state(gate_address to) : server(to) {}

  const gate_address server;
  gate_mode mode = gate_mode::open;
  gate_rules on_request;
  gate_rules on_reply;
  gate_counts counts;
};

/// One client's connection and the connection to the server that belongs to it.
/// Threads: the gate's, under the board's mutex; no call blocks.
class gate_connection {
 public:
  /// Pre: `in` outlives it.
  gate_connection(gate_socket client, gate_state& in);
  ~gate_connection() { reset(); }
  gate_connection(const gate_connection&) = delete;
  gate_connection& operator=(const gate_connection&) = delete;

  /// What it waits for at the client's end and at the server's.
  pollfd client_interest() const;
  pollfd server_interest() const;
  /// When `advance` is due even if nothing happens.
  std::optional<gate_time> due(gate_time now) const;

  /// Reads where something has happened.
  void receive(short at_client, short at_server);
  /// Judges, writes and ends what can be.
  void advance(gate_time now);
  void reset() noexcept;

  bool is_over() const noexcept { return !client_.is_open() && !server_.is_open(); }
  /// Whether bytes for the client are gone, so that what follows would make no sense to it.
  bool has_lost_replies() const noexcept { return lost_replies_; }

 private:
  struct pipe {
    pipe(gate_socket& source, gate_socket& sink, const gate_rules& rules, gate_bytes& bytes)
        : from(source), to(sink), flow(rules), count(bytes) {}
    gate_socket& from;
    gate_socket& to;
    gate_flow flow;
    gate_bytes& count;
    bool at_end = false;    ///< Nothing more can be read.
    bool finished = false;  ///< The other end has been told so.
    bool broken = false;    ///< Nothing more can be written.
  };

  bool is_frozen() const { return state_.mode == gate_mode::black_hole; }
  bool reads(const pipe& of) const;
  bool writes(const pipe& of) const;
  short events(const pipe& in, const pipe& out) const;
  void connect();
  void read(pipe& from);
  void take(pipe& from, std::string_view bytes);
  void judge(pipe& in, gate_time now);
  void write(pipe& to);
  void begin_cut(gate_rule_state& rule, pipe& in);
  void finish_cut();
  void linger();
  void end_in_order();
  bool keeps_end_secret(const pipe& of) const;

  gate_state& state_;
  gate_socket client_;
  gate_socket server_;
  pipe requests_;
  pipe replies_;
  bool begun_ = false;       ///< A connection to the server was asked for.
  bool connecting_ = false;  ///< It is not established yet.
  bool was_reset_ = false;   ///< One end was, and the other will be when it has got what is left.
  bool lost_replies_ = false;
  bool lingers_ = false;  ///< Cut: only the server is still there, to read the rest.
  gate_rule_state* awaits_reply_ = nullptr;  ///< The rule that loses it.
  gate_rule_state* cuts_ = nullptr;          ///< The rule that cuts, when `cut_in_` is written.
  pipe* cut_in_ = nullptr;
};

}  // namespace callonce::testkit::detail
