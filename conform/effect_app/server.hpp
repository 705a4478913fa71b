#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

#include <conform/effect_app/board.hpp>

namespace conform {

/// The effect application: an HTTP/1.1 server, one thread a connection, that answers what it is
/// told.
///
/// The last segment of the path names the route: `e`, `opt`, `plain`, `park` (POST), `q` (PATCH),
/// `p` (PUT), `d` (DELETE), `g` (GET, HEAD); another path is 404, another method 405, neither is a
/// run. `GET /_log` shows the effect log, `PUT /_control` scripts it. Threads: any.
class effect_server {
 public:
  /// Listens on 127.0.0.1. `port` 0 takes a free one. Errors: throws std::system_error.
  explicit effect_server(std::uint16_t port = 0);
  /// Cuts every connection and waits for its thread.
  ~effect_server();
  effect_server(const effect_server&) = delete;
  effect_server& operator=(const effect_server&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  void accept_all();
  void serve(wire& peer);
  bool answer(wire& peer, received& request);

  std::uint16_t port_;
  int listener_;
  board board_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> open_;
  bool stopping_ = false;
  std::thread acceptor_;
};

}  // namespace conform
