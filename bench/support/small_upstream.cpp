#include "bench/support/small_upstream.hpp"

#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace bench {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

std::size_t content_length(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
}

}  // namespace

class small_upstream::impl {
 public:
  impl(std::string slow, std::chrono::milliseconds delay)
      : slow_(std::move(slow)), delay_(delay), thread_([this] { run(); }) {}

  ~impl() {
    io_.stop();
    thread_.join();
  }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::uint64_t slow_effects() const { return slow_effects_; }

 private:
  void run() {
    asio::co_spawn(io_, accept(), asio::detached);
    io_.run();
  }

  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket peer = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(io_, serve(std::move(peer)), asio::detached);
    }
  }

  asio::awaitable<void> serve(tcp::socket peer) {
    const std::string answer =
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: "
        "15\r\n\r\n{\"id\":\"ch_123\"}";
    std::string buffer;
    try {
      for (;;) {
        const std::size_t head = co_await asio::async_read_until(peer, asio::dynamic_buffer(buffer),
                                                                 "\r\n\r\n", asio::use_awaitable);
        const std::size_t whole = head + content_length(buffer.substr(0, head));
        if (buffer.size() < whole) {
          co_await asio::async_read(peer, asio::dynamic_buffer(buffer),
                                    asio::transfer_exactly(whole - buffer.size()),
                                    asio::use_awaitable);
        }
        if (buffer.find(slow_, head) < whole) {
          ++slow_effects_;
          asio::steady_timer pause{io_, delay_};
          co_await pause.async_wait(asio::use_awaitable);
        }
        buffer.erase(0, whole);
        co_await asio::async_write(peer, asio::buffer(answer), asio::use_awaitable);
      }
    } catch (const boost::system::system_error&) {
      // The gateway closed this connection.
    }
  }

  const std::string slow_;
  const std::chrono::milliseconds delay_;
  std::atomic<std::uint64_t> slow_effects_ = 0;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
  std::thread thread_;
};

small_upstream::small_upstream(std::string slow, std::chrono::milliseconds delay)
    : impl_(std::make_unique<impl>(std::move(slow), delay)) {}
small_upstream::~small_upstream() = default;

std::uint16_t small_upstream::port() const {
  return impl_->port();
}
std::uint64_t small_upstream::slow_effects() const {
  return impl_->slow_effects();
}

}  // namespace bench
