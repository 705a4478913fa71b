#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <callonce/adapters/beast/server.hpp>

/// A real server on a loopback port and a client that speaks raw bytes: for tests only.
namespace callonce::beast::loopback {

using namespace std::chrono_literals;

/// A server on a free port, run by a thread of its own.
class host {
 public:
  explicit host(service answers, server_limits limits = {})
      : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}),
        server_(std::move(answers), std::move(limits)) {
    asio::co_spawn(io_, accept(), asio::detached);
    thread_ = std::thread{[this] { io_.run(); }};
  }
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  server& serving() { return server_; }
  asio::io_context& io() { return io_; }

  /// Runs `action` on the server's thread and waits for it.
  template <class Action>
  auto call(Action action) {
    std::packaged_task<decltype(action())()> task{std::move(action)};
    auto done = task.get_future();
    asio::post(io_, [&task] { task(); });
    return done.get();
  }
  ~host() {
    call([this] {
      acceptor_.close();
      server_.close();
    });
    work_.reset();
    thread_.join();
  }
  /// Whether `condition`, asked on the server's thread, becomes true soon.
  template <class Condition>
  bool becomes(Condition condition) {
    for (int turn = 0; turn < 500; ++turn) {
      if (call(condition)) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

 private:
  asio::awaitable<void> accept() {
    for (;;) {
      boost::system::error_code fault;
      asio::ip::tcp::socket one =
          co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, fault));
      if (fault) co_return;
      asio::co_spawn(io_, server_.serve(std::move(one)), asio::detached);
    }
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::ip::tcp::acceptor acceptor_;
  server server_;
  std::thread thread_;
};

/// One answer as a strict client reads it.
struct reply {
  int status = 0;
  header_list headers;
  std::string body;
  bool whole = false;  ///< Head and body ended as they said they would.

  std::string field(std::string_view name) const {
    const std::string* const value = headers.find(name);
    return value == nullptr ? std::string{} : *value;
  }
  bool has(std::string_view text) const { return body.find(text) != std::string::npos; }
};

/// Raw bytes over one connection; every wait is bounded.
class client {
 public:
  explicit client(const host& to) : client(to.port()) {}
  explicit client(unsigned short port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~client() { hang_up(); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  int native_handle() const { return socket_; }

  /// Errors: false when the server does not take it any more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      pollfd ready{socket_, POLLOUT, 0};
      if (::poll(&ready, 1, 10000) != 1) return false;
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void finish_writing() { ::shutdown(socket_, SHUT_WR); }
  void hang_up() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  /// Ends the connection with a reset.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    hang_up();
  }

  /// Reads once more. Errors: false at the end, on a reset, or when nothing comes for ten seconds.
  bool read_more() {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, 10000) != 1) return false;
    char bytes[65536];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    was_reset_ = count < 0;
    if (count <= 0) return false;
    received_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }
  /// Whether the server ends the connection, with nothing more said.
  bool sees_end() { return received_.empty() && !read_more() && received_.empty(); }
  bool was_reset() const { return was_reset_; }
  /// Whether nothing arrives for this long.
  bool hears_nothing(std::chrono::milliseconds time) {
    pollfd ready{socket_, POLLIN, 0};
    return received_.empty() && ::poll(&ready, 1, static_cast<int>(time.count())) == 0;
  }
  const std::string& received() const { return received_; }

  reply ask(std::string_view bytes, bool is_head = false) {
    send(bytes);
    return read_reply(is_head);
  }

  reply read_reply(bool is_head = false) {
    reply said;
    if (!read_until("\r\n\r\n")) return said;
    const std::string head = take(received_.find("\r\n\r\n") + 4);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 ")) << head;
    std::from_chars(head.data() + 9, head.data() + 12, said.status);
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::string line = head.substr(at, end - at);
      said.headers.add(line.substr(0, line.find(':')), line.substr(line.find(':') + 2));
      at = end + 2;
    }
    read_body(said, is_head);
    return said;
  }

 private:
  std::string take(std::size_t count) {
    std::string taken = received_.substr(0, count);
    received_.erase(0, count);
    return taken;
  }
  bool read_until(std::string_view mark) {
    while (received_.find(mark) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }
  bool read_exactly(std::size_t count, std::string& into) {
    while (received_.size() < count) {
      if (!read_more()) return false;
    }
    into += take(count);
    return true;
  }

  void read_body(reply& said, bool is_head) {
    const bool chunked = said.headers.count("Transfer-Encoding") != 0;
    const bool counted = said.headers.count("Content-Length") != 0;
    EXPECT_LE(said.headers.count("Transfer-Encoding") + said.headers.count("Content-Length"), 1U);
    if (is_head || said.status < 200 || said.status == 204 || said.status == 304) {
      said.whole = true;
    } else if (chunked) {
      said.whole = read_chunks(said.body);
    } else if (counted) {
      said.whole = read_exactly(std::stoul(said.field("Content-Length")), said.body);
    } else {
      while (read_more()) {
      }
      said.whole = !was_reset_;
      said.body = take(received_.size());
    }
  }
  bool read_chunks(std::string& into) {
    for (;;) {
      if (!read_until("\r\n")) return false;
      const std::string line = take(received_.find("\r\n") + 2);
      const std::size_t size = std::stoul(line, nullptr, 16);
      std::string end;
      if (!read_exactly(size, into) || !read_exactly(2, end)) return false;
      EXPECT_EQ(end, "\r\n");
      if (size == 0) return true;
    }
  }

  int socket_;
  std::string received_;
  bool was_reset_ = false;
};

/// Reads the body up to `bytes_max` and sends it back; a problem is sent as one.
inline service echo(std::uint64_t bytes_max = std::uint64_t{64} << 20) {
  return [bytes_max](exchange& with) -> asio::awaitable<void> {
    std::variant<body_bytes, problem, disconnected> read = co_await with.read_body(bytes_max);
    if (std::holds_alternative<disconnected>(read)) co_return;
    if (const problem* const why = std::get_if<problem>(&read)) {
      (void)co_await with.send(to_response(*why));
      co_return;
    }
    response said{200, "application/octet-stream", std::get<body_bytes>(read)};
    said.header("X-Seen", with.head().method() + " " + with.head().target());
    (void)co_await with.send(std::move(said));
  };
}

/// Bytes that differ everywhere, so that a shift or a gap shows.
inline std::string patterned(std::size_t size) {
  std::string made(size, '\0');
  std::uint32_t state = 2463534242U;
  for (char& c : made) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    c = static_cast<char>(state);
  }
  return made;
}

inline std::string chunked(std::string_view bytes, std::size_t piece) {
  std::string made;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    char size[20];
    const std::string_view here = bytes.substr(0, piece);
    made.append(size, std::to_chars(size, size + 20, here.size(), 16).ptr);
    made += "\r\n";
    made += here;
    made += "\r\n";
  }
  return made + "0\r\n\r\n";
}

}  // namespace callonce::beast::loopback
