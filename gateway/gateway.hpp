#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gateway/config.hpp>
#include <gateway/log.hpp>

#include <callonce/engine/environment.hpp>
#include <callonce/engine/observer.hpp>

namespace callonce::gateway {

/// How a gateway has ended; the exit code of `callonce serve`.
enum class gateway_end : int {
  drained = 0,
  deadline = 3,  ///< Something still ran when `drain` was over; its leases lapse by themselves.
};

/// What a start may ask for beyond the configuration.
struct start_options {
  bool accept_new_scopes = false;  ///< Serve a store whose records were made under another rule.
  observer* also_tell = nullptr;   ///< Told every fact after the gateway's own observers.
  /// Reads the configuration again on SIGHUP; empty: there is nothing to read.
  std::function<loaded_configuration()> reload;
};

/// The reverse proxy: listeners, routes, engine, store, upstream pools and admin on one thread.
class gateway {
 public:
  /// Opens store and sockets; serves nothing yet.
  /// Pre: the configuration has no mistakes; all references outlive the gateway.
  /// Errors: throws std::runtime_error with one line that says what to change.
  gateway(configuration of, const log& lines, start_options with = {},
          environment& in = system_environment());
  ~gateway();
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  /// Serves on the calling thread until SIGTERM or SIGINT has come and everything is
  /// drained; SIGHUP reads the configuration again for new claims; a second ending signal ends it
  /// at once. Post: after `deadline` runs are left: end the process without destroying the gateway.
  gateway_end run();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace callonce::gateway
