#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <examples/payments/process.hpp>

namespace walk {

/// Thrown by whatever waits once interrupt() was called.
struct interrupted : std::runtime_error {
  interrupted() : std::runtime_error("interrupted") {}
};

/// Ends the walk at its next wait. Threads: any, signal handlers too.
void interrupt() noexcept;
/// Errors: interrupted.
void sleep(std::chrono::milliseconds duration);
/// Asks until it is so, or `patience` is over; false then. Errors: interrupted.
bool await(const std::function<bool()>& condition, std::chrono::milliseconds patience);

struct programs {
  std::string callonce;
  std::string payments;
  int port = 0;  // of the gateway; 0 takes a free one
};

/// The payments API and the gateway in front of it: two child processes over one temporary
/// directory. Errors: std::runtime_error, saying what to do, when one of them does not start.
class house {
 public:
  explicit house(programs programs);
  /// Stops both, the gateway first, and removes the directory unless keep() was called.
  ~house();
  house(const house&) = delete;
  house& operator=(const house&) = delete;

  int gateway_port() const { return gateway_port_; }
  int payments_port() const { return payments_port_; }
  const std::filesystem::path& directory() const { return directory_; }
  /// Leaves logs and files for whoever looks for the reason.
  void keep() { keep_ = true; }

  /// Bookings in the API's own ledger, asked past the gateway.
  std::int64_t bookings() const { return ledger("bookings"); }
  /// Requests that the API is working on.
  std::int64_t in_flight() const { return ledger("in_flight"); }

  void start_gateway();
  /// kill -9.
  void kill_gateway();
  /// Starts again what `tok_crash` ended. Errors: when the gateway has ended.
  void look_after();

 private:
  void start_payments();
  void write_config() const;
  std::int64_t ledger(const char* field) const;

  const programs programs_;
  std::filesystem::path directory_;
  int payments_port_ = 0;
  int gateway_port_ = 0;
  int admin_port_ = 0;
  bool keep_ = false;
  std::unique_ptr<payments::process> payments_;
  std::unique_ptr<payments::process> gateway_;
};

}  // namespace walk
