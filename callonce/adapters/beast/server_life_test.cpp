#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <callonce/adapters/beast/loopback.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::beast {
namespace {

using namespace loopback;

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A service that stays at work until it is let go, or its client has left.
struct held_service {
  callonce::detail::event let_go;
  std::atomic<int> entered = 0;
  std::atomic<int> left = 0;

  service hold() {
    return [this](exchange& with) -> asio::awaitable<void> {
      ++entered;
      const auto how =
          co_await let_go.wait(system_environment(), steady_time::max(), with.client_left());
      if (how == callonce::detail::event::end::left) ++left;
      (void)co_await with.send(response{200, "text/plain", std::string{"done"}});
    };
  }
};

server_limits short_limits() {
  server_limits limits;
  limits.header_timeout = limits.body_timeout = limits.idle_timeout = 300ms;
  return limits;
}

TEST(deadlines, a_slow_head_is_answered_408) {
  host to{echo(), short_limits()};
  client one{to};
  const reply said = one.ask("GET / HTTP/1.1\r\nHos");
  EXPECT_EQ(said.status, 408);
  EXPECT_TRUE(said.has("request_timeout"));
  EXPECT_EQ(said.field("Connection"), "close");
}

// The limit counts from the first byte: a byte now and then does not buy time.
TEST(deadlines, a_dripping_head_is_answered_408) {
  host to{echo(), short_limits()};
  client one{to};
  std::size_t sent = 0;
  const std::string slow = "GET / HTTP/1.1\r\nX-A: " + std::string(1000, 'a');
  while (sent < slow.size() && one.hears_nothing(20ms)) one.send({&slow[sent++], 1});
  EXPECT_LT(sent, 100U);
  EXPECT_EQ(one.read_reply().status, 408);
}

// G-05.
TEST(deadlines, a_body_that_stops_or_drips_is_answered_408) {
  host to{echo(), short_limits()};
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n";
  client stops{to};
  EXPECT_EQ(stops.ask(head + "some").status, 408);
  client drips{to};
  drips.send(head);
  std::size_t sent = 0;
  for (; sent < 5000 && drips.hears_nothing(10ms); ++sent) drips.send("x");
  EXPECT_LT(sent, 200U);
  EXPECT_EQ(drips.read_reply().status, 408);
}

TEST(deadlines, an_idle_connection_is_closed_without_a_word) {
  host to{echo(), short_limits()};
  client fresh{to};
  client used{to};
  EXPECT_EQ(used.ask(get).status, 200);
  EXPECT_TRUE(fresh.sees_end());
  EXPECT_TRUE(used.sees_end());
  EXPECT_TRUE(to.becomes([&] { return to.serving().connections() == 0; }));
}

TEST(deadlines, a_client_that_does_not_read_is_cut) {
  std::atomic<bool> failed = false;
  host to{[&](exchange& with) -> asio::awaitable<void> {
            const result<void> sent =
                co_await with.send(response{200, "text/plain", std::string(64 << 20, 'x')});
            failed = !sent;
          },
          short_limits()};
  client one{to};
  one.send(get);
  EXPECT_TRUE(to.becomes([&] { return failed && to.serving().connections() == 0; }));
}

TEST(deadlines, do_not_count_while_the_service_works) {
  held_service slow;
  host to{slow.hold(), short_limits()};
  client one{to};
  one.send(get);
  EXPECT_TRUE(one.hears_nothing(900ms));
  to.call([&] { slow.let_go.fire(); });
  EXPECT_EQ(one.read_reply().body, "done");
}

// RFC 9112 section 9.3.2: answers in the order of the requests, one at a time.
TEST(pipelining, is_served_one_after_the_other) {
  std::atomic<int> at_work = 0;
  std::atomic<bool> overlapped = false;
  host to{[&](exchange& with) -> asio::awaitable<void> {
    overlapped = overlapped || ++at_work != 1;
    const auto read = co_await with.read_body(1 << 20);
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    --at_work;
    (void)co_await with.send(response{200, "text/plain", with.head().target()});
  }};
  client one{to};
  std::string all;
  for (int at = 0; at < 50; ++at) {
    all += "POST /" + std::to_string(at) + " HTTP/1.1\r\nHost: a\r\n";
    all += at % 2 == 0 ? "Content-Length: 3\r\n\r\nabc"
                       : "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  }
  one.send(all);
  for (int at = 0; at < 50; ++at) EXPECT_EQ(one.read_reply().body, "/" + std::to_string(at));
  EXPECT_FALSE(overlapped);
}

TEST(pipelining, ends_with_the_request_that_asks_for_it) {
  host to{echo()};
  client one{to};
  one.send("GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + get);
  EXPECT_EQ(one.read_reply().field("X-Seen"), "GET /1");
  one.finish_writing();
  EXPECT_TRUE(one.sees_end());
}

// C95: told soon, however the client goes, also when it has sent more meanwhile.
TEST(client_left, is_requested_when_the_client_goes) {
  held_service slow;
  host to{slow.hold()};
  client closes{to};
  client half_closes{to};
  client resets{to};
  client pipelines{to};
  client stays{to};
  for (client* const one : {&closes, &half_closes, &resets, &pipelines, &stays}) one->send(get);
  EXPECT_TRUE(to.becomes([&] { return slow.entered == 5; }));
  EXPECT_TRUE(stays.hears_nothing(600ms));
  EXPECT_EQ(slow.left, 0);
  closes.hang_up();
  half_closes.finish_writing();
  resets.reset();
  pipelines.send(get);
  pipelines.hang_up();
  EXPECT_TRUE(to.becomes([&] { return slow.left >= 4; }));
  to.call([&] { slow.let_go.fire(); });
  EXPECT_EQ(half_closes.read_reply().body, "done") << "it may still be listening";
  EXPECT_EQ(stays.read_reply().body, "done");
}

TEST(drain, finishes_what_is_going_on_and_closes_the_rest) {
  held_service slow;
  host to{slow.hold()};
  client idle{to};
  client busy{to};
  client half{to};
  busy.send(get);
  half.send("GET / HT");
  EXPECT_TRUE(to.becomes([&] { return slow.entered == 1 && to.serving().connections() == 3; }));
  std::promise<bool> drained;
  to.call([&] {
    to.serving().drain();
    asio::co_spawn(to.io(), to.serving().drained(system_environment().now() + 10s),
                   [&](const std::exception_ptr&, bool in_time) { drained.set_value(in_time); });
  });
  EXPECT_TRUE(idle.sees_end());
  half.send("TP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(to.becomes([&] { return slow.entered == 2; }));
  to.call([&] { slow.let_go.fire(); });
  for (client* const one : {&busy, &half}) {
    const reply said = one->read_reply();
    EXPECT_EQ(said.body, "done");
    EXPECT_EQ(said.field("Connection"), "close");
    EXPECT_TRUE(one->sees_end());
  }
  EXPECT_TRUE(drained.get_future().get());
}

TEST(drain, ends_at_its_deadline_and_close_cuts_the_rest) {
  held_service slow;
  host to{slow.hold()};
  client busy{to};
  busy.send(get);
  EXPECT_TRUE(to.becomes([&] { return slow.entered == 1; }));
  std::promise<bool> drained;
  to.call([&] {
    to.serving().drain();
    asio::co_spawn(to.io(), to.serving().drained(system_environment().now() + 50ms),
                   [&](const std::exception_ptr&, bool in_time) { drained.set_value(in_time); });
  });
  EXPECT_FALSE(drained.get_future().get());
  to.call([&] {
    to.serving().close();
    slow.let_go.fire();
  });
  EXPECT_TRUE(busy.sees_end());
  EXPECT_TRUE(to.becomes([&] { return to.serving().connections() == 0; }));
}

TEST(peer, is_the_address_without_its_port) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    (void)co_await with.send(response{200, "text/plain", with.peer()});
  }};
  client one{to};
  EXPECT_EQ(one.ask(get).body, "127.0.0.1");
}

// Connections keep what they need; the io_context takes the last of them with it.
TEST(server, may_go_before_its_connections) {
  asio::io_context io{1};
  asio::local::stream_protocol::socket near{io};
  asio::local::stream_protocol::socket far{io};
  asio::local::connect_pair(near, far);
  {
    server gone{[](exchange& with) -> asio::awaitable<void> {
      (void)co_await with.send(response{200, "text/plain", with.peer()});
    }};
    asio::co_spawn(io, gone.serve(std::move(near)), asio::detached);
    io.poll();
    EXPECT_EQ(gone.connections(), 1U);
  }
  asio::write(far, asio::buffer(get));
  io.poll();
  std::string said(1000, '\0');
  said.resize(far.read_some(asio::buffer(said)));
  EXPECT_TRUE(said.ends_with("unix")) << said;
}

}  // namespace
}  // namespace callonce::beast
