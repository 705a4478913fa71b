#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include <gateway/log.hpp>
#include <gateway/metrics.hpp>

#include <callonce/engine/environment.hpp>
#include <callonce/engine/observer.hpp>

namespace callonce::gateway {

/// Tells every fact to the metrics and, where it is worth a line, to the log. What can happen on
/// every request of a bad day gets one line in ten seconds, with the number of those left out.
/// Threads: one executor.
class telemetry final : public observer {
 public:
  /// Pre: `lines` and `counts` outlive it.
  telemetry(const log& lines, metrics& counts, environment& in = system_environment())
      : lines_(lines), counts_(counts), env_(in) {}

  void on(const fact& what) override;

 private:
  struct flood {
    bool begun = false;
    steady_time quiet_until{};
    std::uint64_t left_out = 0;
  };
  void tell(log_level level, const fact& what, std::uint64_t left_out) const;

  const log& lines_;
  metrics& counts_;
  environment& env_;
  std::array<flood, 32> floods_{};  ///< By kind of fact.
};

/// How much a fact matters to an operator. A refused request is the client's affair and no error
/// (C110).
log_level level_of(const fact& what) noexcept;

}  // namespace callonce::gateway
