// A thread-per-request server (cpp-httplib) whose one operation runs once for each
// Idempotency-Key.
//
//   embed-blocking [PORT [FILE]]
//   curl -d 700 -H 'X-Account: anna' -H 'Idempotency-Key: first' localhost:8080/v1/refunds
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <httplib.h>

#include <callonce/engine/blocking.hpp>
#include <callonce/engine/engine.hpp>
#include <callonce/stores/sqlite/store.hpp>

callonce::header_list headers_of(const httplib::Request& in) {
  callonce::header_list made;
  for (const auto& [name, value] : in.headers) made.add(name, value);
  return made;
}

void give(const callonce::response& answer, httplib::Response& out) {
  out.status = answer.status();
  std::string type = "application/octet-stream";
  for (const callonce::field& line : answer.headers()) {
    if (callonce::same_name(line.name, "Content-Type")) {
      type = line.value;
    } else {
      out.headers.emplace(line.name, line.value);
    }
  }
  if (!answer.content().empty()) out.set_content(std::string{answer.body_text()}, type);
}

int main(int count, char** arguments) {
  const int port = count > 1 ? std::atoi(arguments[1]) : 8080;
  const std::string file = count > 2 ? arguments[2] : "refunds.db";
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  callonce::sqlite::store store{file};
  callonce::engine engine{store};
  std::atomic<int> refunded = 0;
  callonce::blocking::route refunds{
      engine,
      callonce::policy{}
          .scope(callonce::scope_from_header("X-Account"))
          .key(callonce::key_demand::required),
      [&](callonce::claim& claim, const callonce::request& request) -> callonce::outcome {
        if (claim.lost().stop_requested()) return callonce::not_executed{};
        const std::string id = std::to_string(++refunded);
        std::cout << "refunded " + std::string{request.body_text()} + "\n" << std::flush;
        return callonce::response{201, "application/json", "{\"id\":" + id + "}\n"};
      }};

  httplib::Server server;
  server.Post("/v1/refunds", [&](const httplib::Request& in, httplib::Response& out) {
    give(refunds(callonce::request{"POST", in.target, headers_of(in), in.body}), out);
  });
  const int bound = port == 0 ? server.bind_to_any_port("127.0.0.1") : port;
  if (port != 0 && !server.bind_to_port("127.0.0.1", port)) {
    std::cerr << "port " << port << " is taken\n";
    return 1;
  }
  std::cout << "listening on 127.0.0.1:" << bound << std::endl;
  std::thread waits{[&] {
    int which = 0;
    sigwait(&stop, &which);
    server.stop();
  }};
  server.listen_after_bind();
  waits.join();
}
