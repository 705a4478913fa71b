#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gateway/address.hpp>

#include <callonce/core/fingerprint.hpp>
#include <callonce/core/policy.hpp>

namespace callonce::gateway {

/// Where records live.
struct store_settings {
  bool memory = false;  ///< `memory:`: gone with the process, for development.
  std::string server;   ///< A connection string of PostgreSQL; it may hold a password.
  bool rows = false;    ///< The server is asked row by row: it spreads its rows over nodes.
  std::filesystem::path path{"callonce.db"};  ///< Of the SQLite file otherwise.
  std::chrono::milliseconds timeout{std::chrono::seconds{5}};

  /// As it was written, without a password.
  std::string shown() const;
};

/// What one process takes at once, and how long it waits.
struct limit_settings {
  std::uint64_t connections = 10000;
  std::uint64_t header_bytes_max = std::uint64_t{32} << 10;
  std::chrono::milliseconds header_timeout{std::chrono::seconds{10}};
  std::chrono::milliseconds body_timeout{std::chrono::seconds{30}};
  std::chrono::milliseconds idle_timeout{std::chrono::seconds{75}};
  std::chrono::milliseconds connect_timeout{std::chrono::seconds{2}};
  std::uint64_t upstream_connections = 256;
  /// Below the idle limit of common servers (5 s), so that a pooled connection is rarely closed
  /// under a request.
  std::chrono::milliseconds upstream_idle_max{std::chrono::seconds{3}};
  std::uint64_t buffered_bytes_max = std::uint64_t{256} << 20;
  std::uint64_t wait_slots = 1000;
  std::uint64_t detached_slots = 256;
  std::chrono::milliseconds drain{std::chrono::seconds{55}};
};

enum class log_level : std::uint8_t { debug, info, warning, error, off };

struct log_settings {
  log_level level = log_level::info;
  bool json = true;
  bool access = true;  ///< One line a request.
};

/// Where the value of a key comes from.
struct origin {
  enum class source : std::uint8_t { built_in, file, defaults, route, option, profile };
  source from = source::built_in;
  unsigned line = 0;
};

/// One [[route]], or the [defaults] that every request without a route gets.
struct route_settings {
  std::string path;                  ///< Empty for the defaults.
  std::optional<endpoint> upstream;  ///< None: the top level's.
  std::string profile = "ietf";
  std::optional<scope_rule> scope;  ///< None: the one of `[scope]`.
  fingerprint_rule::kind print_by = fingerprint_rule::kind::raw;
  std::vector<std::string> print_fields;  ///< Where it is `fields`.
  bool decode = false;                    ///< A gzip body is hashed by what it holds.
  std::string auth_check;  ///< The path asked before a replay; empty: nobody is asked.
  policy_settings policy;
  std::map<std::string, origin, std::less<>> origins;  ///< By key; what is absent is built in.
};

/// What proves the tokens of a `jwt:` scope.
struct token_settings {
  std::filesystem::path key;  ///< PEM or JWKS.
  std::string algorithm;
  std::string issuer;
  std::string audience;
};

/// The whole configuration of one gateway process.
struct configuration {
  std::vector<endpoint> listen;
  std::optional<endpoint> upstream;  ///< Always there in a configuration without mistakes.
  std::optional<endpoint> admin;
  hop_list proxies;
  store_settings store;
  std::vector<std::string> cors_origins;
  std::optional<scope_rule> scope;  ///< Always there in a configuration without mistakes.
  token_settings tokens;
  limit_settings limits;
  log_settings log;
  route_settings defaults;
  std::vector<route_settings> routes;
  std::map<std::string, origin, std::less<>> origins;  ///< Of the keys outside of routes.

  configuration();
};

/// What was read. Pre for use: `mistakes` is empty.
struct loaded_configuration {
  configuration value;
  std::vector<std::string>
      mistakes;  ///< One line each: file, line, key, what is wrong, what to do.
  std::vector<std::string> warnings;
};

/// What says which keys are the same, for the store to remember: the scope rule, and under it the
/// routes that have a scope or an identity of their own, one line each.
std::string identity_rules(const configuration& of);

/// Reads and judges a configuration file; relative paths in it start at its directory.
loaded_configuration load_file(const std::filesystem::path& file);
/// The same for text that is called `name` in messages.
loaded_configuration load_text(std::string_view text, const std::string& name,
                               const std::filesystem::path& directory);
/// The configuration of a few keys given on the command line, as (section.key, value).
loaded_configuration load_options(const std::vector<std::pair<std::string, std::string>>& options);

}  // namespace callonce::gateway
