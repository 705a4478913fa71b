#include <future>

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

TEST(UpstreamLimit, OthersWaitInTheOrderInWhichTheyCame) {
  std::vector<std::string> order;
  std::promise<void> go;
  scripted_application application{[&](raw_connection& connection, int) {
    for (;;) {
      const std::string got = connection.read_request();
      if (got.empty()) return;
      if (order.empty()) go.get_future().wait();
      order.push_back(got.substr(0, 6));
      connection.send(ok);
    }
  }};
  upstream_limits limits;
  limits.connections = 1;
  pool_world world{application.where(), limits};
  std::vector<std::optional<sent>> got(4);
  for (std::size_t each = 0; each < got.size(); ++each) {
    world.begin(request{"GET", "/" + std::to_string(each)}, got[each]);
  }
  world.run_until([&] { return world.pool().waiting() == 3; });
  go.set_value();
  world.run_until([&] { return got[3].has_value(); });
  EXPECT_EQ(order, (std::vector<std::string>{"GET /0", "GET /1", "GET /2", "GET /3"}));
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamLimit, TheWaitIsBoundedAndLeavesNoTrace) {
  std::promise<void> go;
  scripted_application application{[&](raw_connection& connection, int) {
    connection.read_request();
    go.get_future().wait();
    connection.send(ok);
    connection.read_request();
    connection.send(ok);
  }};
  upstream_limits limits;
  limits.connections = 1;
  limits.connect_timeout = 50ms;
  pool_world world{application.where(), limits};
  std::optional<sent> first;
  world.begin(request{"GET", "/1"}, first);
  EXPECT_EQ(world.fault_of(request{"GET", "/2"}), upstream_fault::unreachable);

  std::stop_source cancel;
  std::optional<sent> left;
  world.begin(request{"GET", "/3"}, left, nullptr, cancel.get_token());
  world.run_until([&] { return world.pool().waiting() == 1; });
  cancel.request_stop();
  world.run_until([&] { return left.has_value(); });
  EXPECT_EQ(std::get<upstream_fault>(*left), upstream_fault::unreachable);
  EXPECT_EQ(world.pool().waiting(), 0U);

  go.set_value();
  world.run_until([&] { return first.has_value(); });
  EXPECT_EQ(world.answer_to(request{"GET", "/4"}).status(), 200);
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamLimit, FaultsGiveTheirPlaceBack) {
  scripted_application application{[](raw_connection& connection, int number) {
    connection.read_request();
    if (number > 3) connection.send(ok);
  }};
  upstream_limits limits;
  limits.connections = 1;
  pool_world world{application.where(), limits};
  for (int each = 0; each < 3; ++each) {
    EXPECT_EQ(world.fault_of(request{"POST", "/"}), upstream_fault::broken);
  }
  EXPECT_EQ(world.answer_to(request{"POST", "/"}).status(), 200);
}

// --- Tunnels -----------------------------------------------------------------------------------

TEST(UpstreamTunnel, CarriesBytesBothWaysUntilBothSidesEnd) {
  std::promise<std::string> asked;
  std::promise<bool> ended;
  scripted_application application{[&](raw_connection& connection, int) {
    asked.set_value(connection.read_request());
    connection.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n"
        "Connection: Upgrade\r\n\r\nhi");
    connection.send(connection.read_some());
    ended.set_value(connection.read_some().empty());
  }};
  pool_world world{application.where()};
  header_list lines;
  lines.add("Host", "a");
  lines.add("Upgrade", "echo");
  upstream_answer said = world.whole_answer_to(request{"GET", "/", lines});
  EXPECT_EQ(said.content.head.status(), 101);
  ASSERT_NE(said.tunnel, nullptr);
  EXPECT_EQ(asked.get_future().get(),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");

  const auto read = [&] {
    std::array<std::byte, 100> room;
    const auto bytes = world.result_of(said.tunnel->read_some(room));
    return bytes ? std::string{reinterpret_cast<const char*>(room.data()), *bytes} : "<cut>";
  };
  EXPECT_EQ(read(), "hi");  // came together with the head
  const std::string_view text = "ping";
  EXPECT_TRUE(world.result_of(said.tunnel->write(std::as_bytes(std::span{text}))).has_value());
  EXPECT_EQ(read(), "ping");
  said.tunnel->finish_writing();
  EXPECT_TRUE(ended.get_future().get());
  EXPECT_EQ(read(), "");
}
}  // namespace
}  // namespace callonce::gateway
