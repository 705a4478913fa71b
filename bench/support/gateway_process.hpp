#pragma once

#include <cstdint>
#include <string>

namespace bench {

/// A `callonce serve` on a SQLite file of its own, stopped and forgotten at the end.
class gateway_process {
 public:
  /// `settings` are TOML, without listen, admin, store, scope and log.
  /// Errors: throws std::runtime_error when it does not become ready.
  gateway_process(const std::string& callonce, const std::string& settings);
  ~gateway_process();
  gateway_process(const gateway_process&) = delete;
  gateway_process& operator=(const gateway_process&) = delete;

  std::uint16_t port() const { return port_; }
  int pid() const { return pid_; }
  /// The sum of all series whose name begins with `name`.
  double metric_sum(const std::string& name) const;

 private:
  std::string folder_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_ = 0;
  int pid_ = 0;
};

}  // namespace bench
