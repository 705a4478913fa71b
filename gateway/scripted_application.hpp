#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gateway/address.hpp>

namespace callonce::gateway::testing {

/// One accepted connection of a scripted application; all calls block, none for longer than 5 s.
class raw_connection {
 public:
  explicit raw_connection(int socket);
  raw_connection(const raw_connection&) = delete;
  raw_connection& operator=(const raw_connection&) = delete;
  ~raw_connection();

  /// Reads one request, head and body, as it came; empty when the other side closed.
  std::string read_request();
  /// Reads up to the blank line behind a head.
  std::string read_head();
  /// Reads what comes next, at most `bytes`; empty at the end.
  std::string read_some(std::size_t bytes = 4096);
  /// Waits for the other side's end. Post: false when something else came, or nothing.
  bool sees_end();
  void send(std::string_view text);
  void close();
  /// Closes with a reset.
  void reset();

 private:
  int socket_;
  std::string held_;
};

/// An application that does to each connection exactly what a script says, on a thread of its own.
class scripted_application {
 public:
  using script = std::function<void(raw_connection&, int number)>;

  /// Listens on a free port of 127.0.0.1, or at `path`. `each` is run for every connection.
  explicit scripted_application(script each, const std::string& path = {});
  ~scripted_application();
  scripted_application(const scripted_application&) = delete;
  scripted_application& operator=(const scripted_application&) = delete;

  endpoint where() const { return where_; }
  int connections() const { return connections_; }

 private:
  void accept_all();

  script each_;
  endpoint where_;
  int listener_ = -1;
  std::atomic<int> connections_{0};
  std::vector<std::thread> running_;
  std::thread accepting_;
};

}  // namespace callonce::gateway::testing
