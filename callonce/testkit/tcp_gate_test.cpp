#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <callonce/testkit/gate_socket.hpp>
#include <callonce/testkit/random.hpp>
#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::testkit {
namespace {

using namespace std::chrono_literals;
using detail::gate_socket;

// Longer than any wait that ends well.
constexpr std::chrono::milliseconds patience = 20s;

bool is_ready(int handle, short events, std::chrono::milliseconds within) {
  pollfd ready{handle, events, 0};
  return ::poll(&ready, 1, static_cast<int>(within.count())) == 1;
}

enum class ending { none, in_order, reset };

// One end of a connection; every wait is bounded.
class wire {
 public:
  explicit wire(gate_socket over) : socket_(std::move(over)) {}
  static wire to(std::uint16_t port) {
    bool pending = false;
    wire made{detail::gate_address{port}.connect(pending)};
    if (pending) is_ready(made.socket_.handle(), POLLOUT, patience);
    made.refused_ = !made.socket_.is_open() || made.socket_.take_fault() != 0;
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
    while (have < count && is_ready(socket_.handle(), POLLIN, patience)) {
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

class tcp_gate_test : public testing::Test {
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

std::string noise(std::size_t size, std::uint64_t seed) {
  random_stream random{seed};
  std::string made(size, '\0');
  for (char& c : made) c = static_cast<char>(random.below(256));
  return made;
}

TEST_F(tcp_gate_test, bytes_pass_both_ways_and_are_counted) {
  pair both = connect();
  expect_talk(both);
  const gate_counts seen = gate_.counts();
  EXPECT_EQ(seen.accepted, 1U);
  EXPECT_EQ(seen.present, 1U);
  EXPECT_EQ(seen.requests.read, 3U);
  EXPECT_EQ(seen.requests.passed, 3U);
  EXPECT_EQ(seen.replies.read, 6U);
  EXPECT_EQ(seen.replies.passed, 6U);
}

TEST_F(tcp_gate_test, ten_mebibytes_each_way_at_once_arrive_intact) {
  pair both = connect();
  const std::string up = noise(10 << 20, 1);
  const std::string down = noise(10 << 20, 2);
  gate_.on_request("a pattern that is not in it", gate_action::cut_before());
  std::thread sends_up{[&] { EXPECT_TRUE(both.client.send(up)); }};
  std::thread sends_down{[&] { EXPECT_TRUE(both.server.send(down)); }};
  std::thread reads_down{[&] { EXPECT_TRUE(both.client.read(down.size()) == down); }};
  EXPECT_TRUE(both.server.read(up.size()) == up);
  sends_up.join();
  sends_down.join();
  reads_down.join();
}

TEST_F(tcp_gate_test, a_receiver_that_does_not_read_stops_the_sender) {
  pair both = connect();
  const std::string much = noise(64 << 20, 3);
  std::atomic<bool> sent = false;
  std::thread sends{[&] { sent = both.client.send(much); }};
  std::uint64_t before = 0;
  for (std::uint64_t now = 1; now != before;) {
    before = now;
    (void)gate_.wait_counts([&](auto& all) { return all.requests.read > before; }, 200ms);
    now = gate_.counts().requests.read;
  }
  EXPECT_FALSE(sent);
  const gate_counts stuck = gate_.counts();
  EXPECT_LE(stuck.requests.read - stuck.requests.passed, 128U * 1024U);
  EXPECT_TRUE(both.server.read(much.size()) == much);
  sends.join();
  EXPECT_TRUE(sent);
}

TEST_F(tcp_gate_test, a_hundred_connections_keep_apart) {
  std::vector<pair> all;
  for (int each = 0; each < 100; ++each) all.push_back(connect());
  for (std::size_t each = 0; each < all.size(); ++each) {
    all[each].client.send("to " + std::to_string(100 + each));
    all[each].server.send("from " + std::to_string(100 + each));
  }
  for (std::size_t each = 0; each < all.size(); ++each) {
    EXPECT_EQ(all[each].server.read(6), "to " + std::to_string(100 + each));
    EXPECT_EQ(all[each].client.read(8), "from " + std::to_string(100 + each));
  }
  EXPECT_EQ(gate_.counts().present, 100U);
  all.clear();
  await_present(0);
}

TEST_F(tcp_gate_test, the_end_of_one_direction_leaves_the_other_open) {
  pair both = connect();
  both.client.send("last");
  both.client.finish_writing();
  EXPECT_EQ(both.server.rest(), "last");
  EXPECT_EQ(both.server.ended(), ending::in_order);
  both.server.send("answer");
  both.server.finish_writing();
  EXPECT_EQ(both.client.rest(), "answer");
  EXPECT_EQ(both.client.ended(), ending::in_order);
  await_present(0);
}

TEST_F(tcp_gate_test, a_reset_passes_to_the_other_end) {
  pair first = connect();
  first.client.reset();
  first.server.rest();
  EXPECT_EQ(first.server.ended(), ending::reset);
  pair second = connect();
  second.server.reset();
  second.client.rest();
  EXPECT_EQ(second.client.ended(), ending::reset);
  await_present(0);
}

TEST_F(tcp_gate_test, without_a_server_the_client_is_reset) {
  std::uint16_t nobody = 0;
  {
    const server gone;
    nobody = gone.port();
  }
  const tcp_gate gate{nobody};
  wire client = wire::to(gate.port());
  client.rest();
  EXPECT_EQ(client.ended(), ending::reset);
}

TEST_F(tcp_gate_test, the_server_may_listen_on_a_unix_socket) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tcp_gate_test." + std::to_string(::getpid()) + ".socket");
  std::filesystem::remove(path);
  const gate_socket listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.native().copy(at.sun_path, sizeof at.sun_path - 1);
  ASSERT_EQ(::bind(listener.handle(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  detail::listen_on(listener);
  tcp_gate gate{path};
  const gate_rule rule = gate.on_request("COMMIT", gate_action::lose_reply());
  wire client = wire::to(gate.port());
  ASSERT_TRUE(is_ready(listener.handle(), POLLIN, patience));
  wire served{gate_socket{::accept(listener.handle(), nullptr, nullptr)}};
  client.send("BEGIN");
  EXPECT_EQ(served.read(5), "BEGIN");
  client.send("COMMIT");
  EXPECT_EQ(served.read(6), "COMMIT");
  served.send("done");
  EXPECT_EQ(client.rest(), "");
  EXPECT_EQ(client.ended(), ending::reset);
  EXPECT_TRUE(rule.wait_done(patience));
  std::filesystem::remove(path);
  EXPECT_THROW(tcp_gate{std::filesystem::path(std::string(200, 'x'))}, std::system_error);
}

TEST_F(tcp_gate_test, cut_resets_both_ends_and_the_next_connection_works) {
  pair both = connect();
  expect_talk(both);
  gate_.cut();
  EXPECT_EQ(gate_.counts().present, 0U);
  EXPECT_EQ(both.client.rest() + both.server.rest(), "");
  EXPECT_EQ(both.client.ended(), ending::reset);
  EXPECT_EQ(both.server.ended(), ending::reset);
  pair next = connect();
  expect_talk(next);
}

TEST_F(tcp_gate_test, while_it_refuses_it_is_like_a_dead_server) {
  pair both = connect();
  gate_.refuse();
  both.client.rest();
  EXPECT_EQ(both.client.ended(), ending::reset);
  EXPECT_TRUE(wire::to(gate_.port()).was_refused());
  gate_.refuse();
  EXPECT_TRUE(wire::to(gate_.port()).was_refused());
  gate_.open();
  pair next = connect();
  expect_talk(next);
  EXPECT_EQ(gate_.counts().accepted, 2U);
}

TEST_F(tcp_gate_test, a_black_hole_passes_nothing_and_lets_it_out_late) {
  pair both = connect();
  gate_.black_hole();
  both.client.send("ask");
  both.server.send("answer");
  both.client.finish_writing();
  wire late = wire::to(gate_.port());
  EXPECT_FALSE(late.was_refused());
  late.send("late");
  EXPECT_TRUE(gate_.wait_counts([](auto& now) { return now.accepted == 2; }, patience));
  EXPECT_TRUE(both.server.hears_nothing(50ms));
  EXPECT_TRUE(both.client.hears_nothing());
  EXPECT_TRUE(server_.hears_nothing());
  gate_.open();
  EXPECT_EQ(both.server.rest(), "ask");
  EXPECT_EQ(both.server.ended(), ending::in_order);
  EXPECT_EQ(both.client.read(6), "answer");
  EXPECT_EQ(server_.accept().read(4), "late");
}

TEST_F(tcp_gate_test, dropped_replies_vanish_while_requests_pass) {
  pair both = connect();
  pair quiet = connect();
  expect_talk(both);
  const gate_rule seen = gate_.on_reply("lost", gate_action::pass());
  gate_.drop_replies();
  both.client.send("ask");
  EXPECT_EQ(both.server.read(3), "ask");
  both.server.send("lost");
  await_replies_read(6 + 4);
  EXPECT_TRUE(both.client.hears_nothing());
  EXPECT_TRUE(seen.wait_done(patience));
  EXPECT_EQ(gate_.counts().replies.passed, 6U);
  gate_.open();
  both.client.rest();
  EXPECT_EQ(both.client.ended(), ending::reset) << "a stream with a hole must not go on";
  expect_talk(quiet);
}

TEST_F(tcp_gate_test, the_end_of_dropped_replies_is_not_heard_until_the_gate_opens) {
  pair both = connect();
  gate_.drop_replies();
  both.server.send("lost");
  both.server.finish_writing();
  await_replies_read(4);
  both.client.send("ask");
  EXPECT_EQ(both.server.read(3), "ask");
  EXPECT_TRUE(both.client.hears_nothing(20ms));
  gate_.open();
  both.client.rest();
  EXPECT_EQ(both.client.ended(), ending::reset);
}

TEST_F(tcp_gate_test, the_gate_ends_with_connections_in_every_state) {
  auto gate = std::make_unique<tcp_gate>(server_.port());
  const gate_rule rule = gate->on_request("HOLD", gate_action::hold_for(1h));
  wire held = wire::to(gate->port());
  wire served = server_.accept();
  held.send("HOLD");
  EXPECT_TRUE(rule.wait_fired(patience));
  wire flooded = wire::to(gate->port());
  wire unread = server_.accept();
  std::thread floods{[&] { EXPECT_FALSE(flooded.send(std::string(64 << 20, 'x'))); }};
  EXPECT_EQ(unread.read(1), "x");
  gate->black_hole();
  wire swallowed = wire::to(gate->port());
  gate.reset();
  floods.join();
  for (wire* each : {&held, &served, &swallowed}) {
    EXPECT_EQ(each->rest(), "");
    EXPECT_EQ(each->ended(), ending::reset);
  }
  EXPECT_FALSE(rule.wait_done(0ms)) << "a rule can be asked after its gate has gone";
}

}  // namespace
}  // namespace callonce::testkit
