#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include <callonce/testkit/random.hpp>
#include <callonce/testkit/tcp_gate_test.hpp>

namespace callonce::testkit {
namespace {

using namespace ends;

using tcp_gate_test = gated;

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
  const std::string much(64 << 20, 'x');
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

TEST_F(tcp_gate_test, a_cut_leaves_nothing_of_connections_that_have_only_just_come) {
  for (int turn = 0; turn < 100; ++turn) {
    wire client = wire::to(gate_.port());
    gate_.cut();
    EXPECT_EQ(gate_.counts().present, 0U);
    EXPECT_EQ(client.rest(), "");
    EXPECT_EQ(client.ended(), ending::reset);
  }
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

TEST_F(tcp_gate_test, any_thread_may_call_while_bytes_pass) {
  const auto calls = [this](std::uint64_t seed) {
    random_stream random{seed};
    for (int turn = 0; turn < 50; ++turn) {
      switch (random.below(6)) {
        case 0:
          gate_.open();
          break;
        case 1:
          gate_.refuse();
          break;
        case 2:
          gate_.black_hole();
          break;
        case 3:
          gate_.drop_replies();
          break;
        case 4:
          gate_.cut();
          break;
        default: {
          const gate_rule rule = gate_.on_request("C", gate_action::lose_reply(), seed);
          EXPECT_LE(gate_.counts().present, gate_.counts().accepted);
          EXPECT_FALSE(rule.done() && !rule.fired());
        }
      }
      const wire client = wire::to(gate_.port());
      if (!client.was_refused()) (void)client.send("COMMIT");
    }
  };
  std::vector<std::thread> callers;
  for (std::uint64_t seed = 0; seed < 4; ++seed) callers.emplace_back(calls, seed);
  for (std::thread& each : callers) each.join();
  gate_.cut();
  EXPECT_EQ(gate_.counts().present, 0U);
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
