// A Beast server whose one operation runs once for each Idempotency-Key.
//
//   embed-beast [PORT [FILE]]
//   curl -d 700 -H 'X-Account: anna' -H 'Idempotency-Key: first' localhost:8080/v1/charges
#include <cstdlib>
#include <iostream>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <callonce/adapters/beast/answer.hpp>
#include <callonce/engine/engine.hpp>
#include <callonce/stores/sqlite/store.hpp>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

asio::awaitable<void> session(tcp::socket socket, callonce::route& charges) {
  boost::beast::flat_buffer buffer;
  for (bool open = true; open;) {
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, asio::use_awaitable);
    http::response<http::string_body> answer =
        co_await callonce::beast::answer(charges, std::move(request));
    open = answer.keep_alive();
    co_await http::async_write(socket, answer, asio::use_awaitable);
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, callonce::route& charges) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), session(std::move(socket), charges), asio::detached);
  }
}

int main(int count, char** arguments) {
  const auto port = static_cast<unsigned short>(count > 1 ? std::atoi(arguments[1]) : 8080);
  const std::string file = count > 2 ? arguments[2] : "charges.db";

  asio::io_context io{1};
  callonce::sqlite::store store{file};
  callonce::engine engine{store};

  int charged = 0;
  callonce::route charges{
      engine,
      callonce::policy{}
          .scope(callonce::scope_from_header("X-Account"))
          .key(callonce::key_demand::required),
      [&](callonce::claim& claim,
          const callonce::request& request) -> asio::awaitable<callonce::outcome> {
        // The effect. A downstream that deduplicates is given claim.downstream_key("psp").
        std::cout << "charged " << request.body_text() << ", attempt " << claim.attempt()
                  << std::endl;
        const std::string id = std::to_string(++charged);
        callonce::response made{201, "application/json", "{\"id\":" + id + "}\n"};
        made.header("Location", "/v1/charges/" + id);
        co_return made;
      }};

  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), port}};
  std::cout << "listening on 127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
  asio::co_spawn(io, accept(acceptor, charges), asio::detached);
  asio::signal_set stop{io, SIGINT, SIGTERM};
  stop.async_wait([&](const boost::system::error_code&, int) { io.stop(); });
  io.run();
}
