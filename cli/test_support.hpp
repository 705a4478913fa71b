#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace callonce::cli::test {

/// A directory of its own for each test, gone with it.
class scratch {
 public:
  scratch();
  ~scratch();
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  /// Writes a file and gives its path.
  std::string file(const char* name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

struct ended {
  int code = -1;
  std::string out;
  std::string err;
};

/// Runs `callonce` with these words to its end.
ended run(const std::vector<std::string>& words);

/// A `callonce serve` that is ready, on ports that the system chose.
class served {
 public:
  /// Errors: throws std::runtime_error with what it said instead of starting.
  explicit served(const std::vector<std::string>& words);
  ~served();
  served(const served&) = delete;
  served& operator=(const served&) = delete;

  std::uint16_t port() const { return port_; }
  std::uint16_t admin() const { return admin_; }
  void signal(int number) const;
  /// Waits until it has stopped itself (SIGSTOP).
  void await_stopped() const;
  /// Waits for the end. Post: the exit code.
  int wait();
  int stop();
  /// Reads its log until a line has `text` in it. Post: that line.
  std::string await_line(const std::string& text);
  /// All that it has written. Pre: it has ended.
  std::string log();

 private:
  bool read_more();
  pid_t process_ = 0;
  int output_ = -1;
  std::string log_;
  std::size_t seen_ = 0;
  std::uint16_t port_ = 0;
  std::uint16_t admin_ = 0;
};

struct reply {
  int status = 0;  ///< 0: the connection was closed without an answer.
  std::string head;
  std::string body;
  bool has(const std::string& line) const { return head.find(line + "\r\n") != std::string::npos; }
};

/// An open connection to a loopback port.
class connection {
 public:
  explicit connection(std::uint16_t port);
  explicit connection(const std::filesystem::path& socket);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void send(const std::string& text) const;
  /// One answer with a Content-Length.
  reply read() const;

 private:
  int descriptor_;
};

using lines = std::vector<std::string>;

/// One request on a connection of its own.
reply ask(std::uint16_t port, const std::string& method, const std::string& path,
          const lines& headers = {}, const std::string& body = {});
std::string request_text(const std::string& method, const std::string& path, const lines& headers,
                         const std::string& body);

/// An application that counts: POST /status/NNN answers NNN, /hang waits until `let_go`,
/// everything else 201.
class application {
 public:
  application();
  ~application();
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int calls() const;
  /// Waits until the application was called so often.
  void await_calls(int count) const;
  void let_go();

 private:
  void accept_all();
  void serve(int descriptor);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int calls_ = 0;
  bool open_ = false;
  std::vector<std::thread> threads_;
  std::vector<int> descriptors_;
};

}  // namespace callonce::cli::test
