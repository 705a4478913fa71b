#include "bench/support/load.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
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

using clock = std::chrono::steady_clock;

tcp::endpoint loopback(std::uint16_t port) {
  return {asio::ip::address_v4::loopback(), port};
}

// Reads one answer with a Content-Length and counts it.
asio::awaitable<void> read_answer(tcp::socket& from, std::string& buffer, load_result& into) {
  const std::size_t head = co_await asio::async_read_until(from, asio::dynamic_buffer(buffer),
                                                           "\r\n\r\n", asio::use_awaitable);
  const std::string text = buffer.substr(0, head);
  const std::size_t at = text.find("Content-Length: ");
  const std::size_t whole = head + (at == std::string::npos ? 0 : std::stoul(text.substr(at + 16)));
  if (buffer.size() < whole) {
    co_await asio::async_read(from, asio::dynamic_buffer(buffer),
                              asio::transfer_exactly(whole - buffer.size()), asio::use_awaitable);
  }
  buffer.erase(0, whole);
  const std::string status = text.substr(9, 3);
  if (status == "201") {
    ++into.answers_201;
    if (text.find("Idempotent-Replayed") != std::string::npos) ++into.replays;
  } else if (status == "409") {
    ++into.refused_409;
  } else {
    ++into.others;
  }
}

double since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

}  // namespace

std::string post(const std::string& key, const std::string& body) {
  return "POST /v1/charges HTTP/1.1\r\nHost: bench\r\nX-Api-Key: bench\r\nContent-Type: "
         "application/json\r\nIdempotency-Key: " +
         key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

load_result storm(std::uint16_t port, std::size_t connections, const std::string& request,
                  const std::function<void()>& meanwhile) {
  asio::io_context io{1};
  load_result result;
  std::vector<tcp::socket> sockets;
  for (std::size_t at = 0; at < connections; ++at) {
    sockets.emplace_back(io);
    sockets.back().connect(loopback(port));
  }
  const auto one = [&](tcp::socket& over) -> asio::awaitable<void> {
    std::string buffer;
    const auto start = clock::now();
    try {
      co_await asio::async_write(over, asio::buffer(request), asio::use_awaitable);
      co_await read_answer(over, buffer, result);
      result.milliseconds.push_back(since(start));
    } catch (const boost::system::system_error&) {
      ++result.others;
    }
  };
  for (tcp::socket& each : sockets) asio::co_spawn(io, one(each), asio::detached);
  // Half a second is enough to write all requests, and before the slow one is answered.
  asio::steady_timer on_their_way{io, std::chrono::milliseconds{500}};
  on_their_way.async_wait([&](const boost::system::error_code&) { meanwhile(); });
  io.run();
  return result;
}

load_result flow(std::uint16_t port, std::size_t connections, const std::string& prefix,
                 const std::atomic<bool>& stop) {
  asio::io_context io{1};
  load_result result;
  std::uint64_t next = 0;
  const auto one = [&]() -> asio::awaitable<void> {
    tcp::socket over{io};
    co_await over.async_connect(loopback(port), asio::use_awaitable);
    std::string buffer;
    while (!stop) {
      const std::string request = post(prefix + std::to_string(++next), "{\"amount\":1}");
      const auto start = clock::now();
      co_await asio::async_write(over, asio::buffer(request), asio::use_awaitable);
      co_await read_answer(over, buffer, result);
      result.milliseconds.push_back(since(start));
    }
  };
  for (std::size_t at = 0; at < connections; ++at) asio::co_spawn(io, one(), asio::detached);
  io.run();
  return result;
}

}  // namespace bench
