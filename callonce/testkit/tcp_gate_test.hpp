#pragma once

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>

#include <callonce/testkit/gate_socket.hpp>
#include <callonce/testkit/tcp_gate.hpp>

/// The two ends of a gate, both moved by the test's own thread.
namespace callonce::testkit::ends {

using namespace std::chrono_literals;
using detail::gate_socket;

// Longer than any wait that ends well.
inline constexpr std::chrono::milliseconds patience = 20s;

inline bool is_ready(int handle, short events, std::chrono::milliseconds within) {
  pollfd ready{handle, events, 0};
  return ::poll(&ready, 1, static_cast<int>(within.count())) == 1;
}

/// How the other end ended what it says.
enum class ending { none, in_order, reset };

/// One end of a connection; every wait is bounded.
class wire {
 public:
  explicit wire(gate_socket over) : socket_(std::move(over)) {}
  static wire to(std::uint16_t port) {
    bool pending = false;
    wire made{detail::gate_address{port}.connect(pending)};
    if (pending) is_ready(made.socket_.handle(), POLLOUT, patience);
    const int fault = made.socket_.is_open() ? made.socket_.take_fault() : ECONNREFUSED;
    made.refused_ = fault == ECONNREFUSED;
    // The system reports a fault once: a reset that was quicker than this line is not read again.
    if (fault == ECONNRESET) made.ended_ = ending::reset;
    return made;
  }

  bool was_refused() const { return refused_; }
  bool send(std::string_view bytes) const {
    while (!bytes.empty() && is_ready(socket_.handle(), POLLOUT, patience)) {
      const ssize_t count = ::send(socket_.handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return bytes.empty();
  }
  // Reads so many bytes, or what comes before the end.
  std::string read(std::size_t count) {
    std::string got(count, '\0');
    std::size_t have = 0;
    while (ended_ == ending::none && have < count && is_ready(socket_.handle(), POLLIN, patience)) {
      const ssize_t more = ::recv(socket_.handle(), got.data() + have, count - have, 0);
      if (more <= 0) {
        ended_ = more == 0 ? ending::in_order : ending::reset;
        break;
      }
      have += static_cast<std::size_t>(more);
    }
    got.resize(have);
    return got;
  }
  // Reads to the end, which must come before `bytes_max`.
  std::string rest(std::size_t bytes_max = 1000) {
    std::string got = read(bytes_max);
    EXPECT_NE(ended_, ending::none);
    return got;
  }
  ending ended() const { return ended_; }
  bool hears_nothing(std::chrono::milliseconds within = 0ms) const {
    return !is_ready(socket_.handle(), POLLIN, within);
  }
  void finish_writing() { socket_.finish_writing(); }
  void hang_up() { socket_.close(); }
  void reset() { socket_.reset(); }

 private:
  gate_socket socket_;
  ending ended_ = ending::none;
  bool refused_ = false;
};

/// Where the gate connects to.
class server {
 public:
  server() : listener_(detail::bind_to_loopback(0)) { detail::listen_on(listener_); }
  std::uint16_t port() const { return detail::port_of(listener_); }
  wire accept() const {
    EXPECT_TRUE(is_ready(listener_.handle(), POLLIN, patience)) << "nobody came";
    return wire{detail::accept_from(listener_)};
  }
  bool hears_nothing(std::chrono::milliseconds within = 0ms) const {
    return !is_ready(listener_.handle(), POLLIN, within);
  }

 private:
  gate_socket listener_;
};

/// A gate before a server that does what the test says.
class gated : public testing::Test {
 protected:
  struct pair {
    wire client;
    wire server;
  };
  pair connect() {
    wire client = wire::to(gate_.port());
    return {std::move(client), server_.accept()};
  }
  // Both ways work.
  static void expect_talk(pair& with) {
    with.client.send("ask");
    EXPECT_EQ(with.server.read(3), "ask");
    with.server.send("answer");
    EXPECT_EQ(with.client.read(6), "answer");
  }
  void await_present(std::uint64_t count) const {
    EXPECT_TRUE(gate_.wait_counts([&](auto& now) { return now.present == count; }, patience));
  }
  void await_replies_read(std::uint64_t count) const {
    EXPECT_TRUE(gate_.wait_counts([&](auto& now) { return now.replies.read == count; }, patience));
  }

  server server_;
  tcp_gate gate_{server_.port()};
};

}  // namespace callonce::testkit::ends
