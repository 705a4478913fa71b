#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

struct pg_conn;

namespace callonce::tests {

/// A PostgreSQL server of Debian's packages in a temporary folder, on a free loopback port and a
/// socket in its folder. Where the tests run as root it runs as `postgres`, since it refuses root.
/// It ends with its object, and with the test that dies before.
class postgres_server {
 public:
  /// `settings` are lines as in postgresql.conf. Errors: throws std::runtime_error.
  explicit postgres_server(const std::vector<std::string>& settings = {});
  /// A hot standby that follows `primary`, until `select pg_promote()`.
  struct following {
    const postgres_server& primary;
  };
  explicit postgres_server(following what);
  ~postgres_server();
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;

  /// The one that a test program shares between its tests.
  static postgres_server& shared();
  /// Hands a file or folder to the user as whom servers run.
  static void give(const std::filesystem::path& what);

  std::uint16_t port() const noexcept { return port_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// A connection string, over TCP or over the socket.
  std::string url(const std::string& database = "postgres") const;
  std::string socket_url(const std::string& database = "postgres") const;
  /// The same for another port: of something that stands in front of the server.
  static std::string url_at(std::uint16_t port, const std::string& database);

  /// Makes a database with a name of its own, as a copy of `from`, if given.
  std::string new_database(const std::string& from = {});

  /// kill -9 of the server and all its children.
  void kill();
  /// An orderly stop. Post: it has ended.
  void stop();
  /// Starts it again on the same port. Post: it takes connections.
  void start();

 private:
  void make_folder();
  void initialize(const std::vector<std::string>& settings);
  void configure(const std::vector<std::string>& settings);

  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
  bool was_up_ = false;  // Then its port is known to others.
  unsigned databases_ = 0;
};

/// A superuser's connection of a test.
class postgres_client {
 public:
  /// Errors: throws std::runtime_error.
  explicit postgres_client(const std::string& url);
  ~postgres_client();
  postgres_client(const postgres_client&) = delete;
  postgres_client& operator=(const postgres_client&) = delete;

  /// Runs statements. Post: the first column of the last result's rows.
  /// Errors: throws std::runtime_error with the SQLSTATE first.
  std::vector<std::string> ask(const std::string& sql);
  /// The same. Post: the SQLSTATE, 00000 for success; `lost` where the connection is gone.
  std::string attempt(const std::string& sql);
  /// The tag of the last command: a COMMIT that was none says ROLLBACK.
  const std::string& tag() const noexcept { return tag_; }
  pg_conn* handle() const noexcept { return over_; }

 private:
  pg_conn* over_ = nullptr;
  std::string tag_;
};

}  // namespace callonce::tests
