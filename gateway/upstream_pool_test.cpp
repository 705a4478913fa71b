#include <future>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gateway/scripted_application.hpp>
#include <gateway/upstream_pool.hpp>
#include <gateway/upstream_test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;
using testing::raw_connection;
using testing::scripted_application;

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// --- The connections that are kept -------------------------------------------------------------

TEST(UpstreamPool, SendsTheRequestAsItIsAndUsesTheConnectionAgain) {
  std::promise<std::string> first;
  std::promise<std::string> second;
  scripted_application application{[&](raw_connection& connection, int) {
    first.set_value(connection.read_request());
    connection.send(
        "HTTP/1.1 201 Created\r\nLink: a\r\nX-A: 1\r\nLink: b\r\n"
        "Content-Length: 5\r\n\r\nhello");
    second.set_value(connection.read_request());
    connection.send(ok);
  }};
  pool_world world{application.where()};
  header_list lines;
  lines.add("Host", "shop.example");
  lines.add("X-A", "1");
  lines.add("x-b", "2");
  lines.add("X-A", "3");

  const response created = world.answer_to(request{"POST", "/v1/charges?x=1", lines, {"{}"}});
  EXPECT_EQ(created.status(), 201);
  EXPECT_EQ(created.body_text(), "hello");
  header_list expected;
  expected.add("Link", "a");
  expected.add("X-A", "1");
  expected.add("Link", "b");
  expected.add("Content-Length", "5");
  EXPECT_EQ(created.headers(), expected);
  EXPECT_EQ(first.get_future().get(),
            "POST /v1/charges?x=1 HTTP/1.1\r\nHost: shop.example\r\nX-A: 1\r\nx-b: 2\r\nX-A: 3\r\n"
            "Content-Length: 2\r\n\r\n{}");

  EXPECT_EQ(world.answer_to(request{"GET", "/", lines}).status(), 200);
  EXPECT_EQ(second.get_future().get(),
            "GET / HTTP/1.1\r\nHost: shop.example\r\nX-A: 1\r\nx-b: 2\r\nX-A: 3\r\n\r\n");
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamPool, AnEmptyPostSaysThatItIsEmptyAndAMissingHostIsTheApplications) {
  std::promise<std::string> got;
  scripted_application application{[&](raw_connection& connection, int) {
    got.set_value(connection.read_request());
    connection.send(ok);
  }};
  pool_world world{application.where()};
  world.answer_to(request{"POST", "/"});
  EXPECT_EQ(got.get_future().get(),
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(application.where().port) +
                "\r\nContent-Length: 0\r\n\r\n");
}

// Answers the first request of the first connection, then does `after` to it.
class AfterTheFirstAnswer {
 public:
  explicit AfterTheFirstAnswer(std::function<void(raw_connection&)> after,
                               std::string answer = std::string{ok})
      : application_{[this, after = std::move(after), answer = std::move(answer)](
                         raw_connection& connection, int number) {
          if (connection.read_request().empty()) return;
          ++requests;
          connection.send(number == 1 ? answer : std::string{ok});
          if (number != 1) return;
          after(connection);
          done_.set_value();
          if (connection.read_request().empty()) return;
          ++requests;
          connection.send(ok);
        }} {}

  void wait_until_done() { done_.get_future().wait(); }
  endpoint where() const { return application_.where(); }
  int connections() const { return application_.connections(); }

  std::atomic<int> requests{0};

 private:
  std::promise<void> done_;
  scripted_application application_;
};

TEST(UpstreamPool, X17DoesNotUseAConnectionThatTheApplicationHasClosed) {
  AfterTheFirstAnswer application{[](raw_connection& connection) { connection.close(); }};
  pool_world world{application.where()};
  world.answer_to(request{"POST", "/1"});
  application.wait_until_done();
  EXPECT_EQ(world.answer_to(request{"POST", "/2"}).status(), 200);
  EXPECT_EQ(application.connections(), 2);
  EXPECT_EQ(application.requests, 2);
}

TEST(UpstreamPool, DoesNotUseAConnectionWithAStrayByte) {
  AfterTheFirstAnswer application{[](raw_connection& connection) { connection.send("x"); }};
  pool_world world{application.where()};
  world.answer_to(request{"POST", "/1"});
  application.wait_until_done();
  EXPECT_EQ(world.answer_to(request{"POST", "/2"}).body_text(), "ok");
  EXPECT_EQ(application.connections(), 2);
}

TEST(UpstreamPool, DoesNotUseAConnectionWhoseAnswerHadMoreBytesThanItSaid) {
  AfterTheFirstAnswer application{[](raw_connection&) {}, std::string{ok} + "stray"};
  pool_world world{application.where()};
  EXPECT_EQ(world.answer_to(request{"POST", "/1"}).body_text(), "ok");
  EXPECT_EQ(world.answer_to(request{"POST", "/2"}).body_text(), "ok");
  EXPECT_EQ(application.connections(), 2);
}

TEST(UpstreamPool, DoesNotUseAConnectionThatWasIdleForTooLong) {
  AfterTheFirstAnswer application{[](raw_connection&) {}};
  pool_world world{application.where()};
  world.answer_to(request{"POST", "/1"});
  world.clock.advance(2900ms);
  world.answer_to(request{"POST", "/2"});
  EXPECT_EQ(application.connections(), 1);
  world.clock.advance(3000ms);
  world.answer_to(request{"POST", "/3"});
  EXPECT_EQ(application.connections(), 2);
  EXPECT_EQ(application.requests, 3);
}

TEST(UpstreamPool, DoesNotUseAConnectionAgainWhenTheAnswerSaysClose) {
  AfterTheFirstAnswer application{
      [](raw_connection&) {},
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"};
  pool_world world{application.where()};
  world.answer_to(request{"POST", "/1"});
  EXPECT_EQ(world.pool().idle(), 0U);
  world.answer_to(request{"POST", "/2"});
  EXPECT_EQ(application.connections(), 2);
}

TEST(UpstreamPool, ClosesIdleConnectionsInTime) {
  std::promise<bool> closed;
  scripted_application application{[&](raw_connection& connection, int) {
    connection.read_request();
    connection.send(ok);
    closed.set_value(connection.sees_end());
  }};
  upstream_limits limits;
  limits.idle_max = 30ms;
  pool_world world{application.where(), limits};
  world.answer_to(request{"GET", "/"});
  world.io.restart();
  world.io.run_for(5s);  // ends as soon as nothing is pending
  EXPECT_EQ(world.pool().idle(), 0U);
  EXPECT_TRUE(closed.get_future().get());
}

// --- Never a second send -----------------------------------------------------------------------

// What an application does with a request on a kept or a new connection.
struct fault_row {
  const char* what;
  std::function<void(raw_connection&)> does;
};
void PrintTo(const fault_row& of, std::ostream* out) {
  *out << of.what;
}

class UpstreamFault : public ::testing::TestWithParam<fault_row> {};

TEST_P(UpstreamFault, C90IsBrokenAndTheRequestIsSentOnce) {
  for (const bool on_kept : {false, true}) {
    std::atomic<int> sends{0};
    scripted_application application{[&](raw_connection& connection, int) {
      if (on_kept && sends == 0) {
        connection.read_request();
        connection.send(ok);
      }
      if (connection.read_some(1).empty()) return;
      ++sends;
      GetParam().does(connection);
    }};
    pool_world world{application.where()};
    if (on_kept) world.answer_to(request{"POST", "/warm"});
    EXPECT_EQ(world.fault_of(request{"POST", "/", {}, {"body"}}), upstream_fault::broken);
    EXPECT_EQ(sends, 1) << (on_kept ? "kept" : "new") << " connection";
    EXPECT_EQ(application.connections(), 1);
  }
}

void answer_with(raw_connection& connection, std::string_view text) {
  connection.read_request();
  connection.send(text);
}

INSTANTIATE_TEST_SUITE_P(
    C90, UpstreamFault,
    ::testing::Values(
        fault_row{"a: closes when the request arrives", [](raw_connection& c) { c.close(); }},
        fault_row{"b: reads it all and closes",
                  [](raw_connection& c) {
                    c.read_request();
                    c.close();
                  }},
        fault_row{"c: resets behind the head",
                  [](raw_connection& c) {
                    c.read_head();
                    c.reset();
                  }},
        fault_row{"half a head", [](raw_connection& c) { answer_with(c, "HTTP/1.1 200 OK\r\nX"); }},
        fault_row{"garbage", [](raw_connection& c) { answer_with(c, "SSH-2.0-x\r\n\r\n"); }},
        fault_row{"D-48: a body that is too short",
                  [](raw_connection& c) {
                    answer_with(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
                  }},
        fault_row{"both framings",
                  [](raw_connection& c) {
                    answer_with(c,
                                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
                  }},
        fault_row{"a head without end",
                  [](raw_connection& c) {
                    answer_with(c, "HTTP/1.1 200 OK\r\nX: " + std::string(40000, 'x'));
                  }},
        fault_row{"D-42: 101 that nobody asked for",
                  [](raw_connection& c) {
                    answer_with(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
                  }},
        fault_row{"an interim answer and no more",
                  [](raw_connection& c) { answer_with(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); }}));

TEST(UpstreamUnreachable, C90dARefusedConnectionIsUnreachable) {
  endpoint nowhere;
  {
    const scripted_application gone{[](raw_connection&, int) {}};
    nowhere = gone.where();
  }
  pool_world world{nowhere};
  EXPECT_EQ(world.fault_of(request{"POST", "/"}), upstream_fault::unreachable);
}

TEST(UpstreamUnreachable, ANameThatDoesNotExistIsUnreachable) {
  endpoint nowhere;
  nowhere.host = "no-such-host.invalid";
  nowhere.port = 80;
  upstream_limits limits;
  limits.connect_timeout = 300ms;
  pool_world world{nowhere, limits};
  EXPECT_EQ(world.fault_of(request{"POST", "/"}), upstream_fault::unreachable);
}

TEST(UpstreamUnreachable, AnApplicationThatDoesNotAcceptIsUnreachableInTime) {
  const full_listener listener;
  upstream_limits limits;
  limits.connect_timeout = 100ms;
  pool_world world{listener.where(), limits};
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(world.fault_of(request{"POST", "/"}), upstream_fault::unreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
}

TEST(UpstreamAddress, TriesTheAddressesOfANameInTurn) {
  // Where localhost is ::1 first, that one is refused: the application listens on 127.0.0.1 only.
  scripted_application application{
      [](raw_connection& connection, int) { answer_with(connection, ok); }};
  endpoint named = application.where();
  named.host = "localhost";
  pool_world world{named};
  EXPECT_EQ(world.answer_to(request{"GET", "/"}).status(), 200);
}

TEST(UpstreamAddress, ReachesAUnixSocket) {
  const temporary_path path;
  std::promise<std::string> got;
  scripted_application application{[&](raw_connection& connection, int) {
                                     got.set_value(connection.read_request());
                                     connection.send(ok);
                                   },
                                   path.text()};
  pool_world world{application.where()};
  EXPECT_EQ(world.answer_to(request{"GET", "/"}).body_text(), "ok");
  EXPECT_EQ(got.get_future().get(), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

TEST(UpstreamAddress, AMissingUnixSocketIsUnreachable) {
  endpoint nowhere;
  nowhere.path = "/nonexistent/callonce.sock";
  pool_world world{nowhere};
  EXPECT_EQ(world.fault_of(request{"GET", "/"}), upstream_fault::unreachable);
}

}  // namespace
}  // namespace callonce::gateway
