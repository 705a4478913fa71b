#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <conform/effect_app/step.hpp>

namespace conform {

/// The effect log, the scripts, the gates and the resources of every case.
///
/// Threads: any number. A case is the value of `case` in the request's target.
class board {
 public:
  /// A run that has begun: its row, its place among the runs of its case, and its script's step.
  struct ticket {
    std::size_t row = 0;
    int ordinal = 0;
    std::optional<step> scripted;
  };

  ticket begin(const std::string& name, const received& request);
  /// The run's work is over; called before its last bytes leave.
  void end(std::size_t row, int status);

  /// Blocks until `go` has let this run pass; false when the board closes first.
  bool wait_gate(const std::string& name, int ordinal);

  /// Carries out `{"case": NAME, "answers": [STEP, …], "go": ORDINAL}`.
  /// Errors: throws std::invalid_argument.
  void control(std::string_view json);

  /// The rows of a case as JSON, once it has `starts` rows and `ends` ended ones or `patience`
  /// ends.
  std::string rows(const std::string& name, std::size_t starts, std::size_t ends,
                   std::chrono::milliseconds patience);

  std::optional<std::string> resource(const std::string& name);
  void set_resource(const std::string& name, std::optional<std::string> to);

  /// Opens every gate for good.
  void close();

 private:
  struct run {
    std::string name;
    std::size_t thread = 0;
    received request;
    std::int64_t start_us = 0;
    std::int64_t end_us = 0;
    int status = 0;
  };
  struct script {
    std::deque<step> answers;
    std::vector<std::size_t> rows;
    std::size_t ended = 0;
    int passes = 0;
    std::optional<std::string> resource;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<run> runs_;
  std::map<std::string, script> cases_;
  bool closed_ = false;
};

}  // namespace conform
