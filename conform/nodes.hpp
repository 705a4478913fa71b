#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <conform/http/message.hpp>
#include <conform/process.hpp>

namespace conform {

/// What one gateway is started with, beyond the routes that every gateway of a run has.
struct node_options {
  std::filesystem::path store;  ///< two nodes with one path share their records
  std::string store_url;        ///< where that is no SQLite file
  std::uint16_t upstream = 0;
  std::string top;                                     ///< lines before the first table
  std::string scope = "from = \"header:X-Tenant\"\n";  ///< lines for [scope]
  std::string limits;                                  ///< lines for [limits]
  std::string log;                                     ///< lines for [log]
  std::string defaults;                                ///< lines for [defaults]
  std::string routes;                                  ///< more [[route]] tables
  std::string store_timeout = "5s";
  bool keep_log = true;  ///< false: its output is thrown away
};

/// A gateway process on loopback ports of its own: `callonce serve --config FILE`.
///
/// Threads: one at a time.
class node {
 public:
  /// `name` is unique in `directory`, where configuration and log lie.
  node(std::filesystem::path program, const std::filesystem::path& directory,
       const std::string& name, const node_options& options);

  /// Starts, also again after `stop` or `kill`, and waits until it is ready.
  /// Errors: throws std::runtime_error with the end of its log.
  void start();
  void kill() { process_.kill(); }
  /// SIGSTOP and SIGCONT: the process stands still and knows nothing of it.
  void pause();
  void resume();
  /// SIGTERM, and SIGKILL if it does not end. Post: the exit code.
  int stop();
  /// From now on no file of this process grows: every write to its store fails.
  void forbid_writes();
  void allow_writes();

  std::uint16_t port() const { return port_; }
  /// What the admin listener says at /metrics.
  std::string metrics() const;
  /// The most memory that the process has held, in KiB.
  long peak_kib() const;
  /// SIGHUP with another configuration. Post: its log says whether it was taken.
  void reload(const node_options& options);
  std::string log() const { return file_text(log_); }
  /// `callonce VERB… --config FILE ARGUMENTS…` against this node's store.
  command_result command(const std::vector<std::string>& verb,
                         const std::vector<std::string>& arguments);

 private:
  void limit_file_size(bool limited);
  bool ready();

  std::filesystem::path program_;
  std::filesystem::path config_;
  std::filesystem::path log_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_ = 0;
  process process_;
};

/// A configuration file's text: the routes that the rows use, and the given options.
std::string config_text(const node_options& options, std::uint16_t listen, std::uint16_t admin);

}  // namespace conform
