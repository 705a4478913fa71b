#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include <boost/json.hpp>
#include <examples/payments/bank.hpp>
#include <examples/payments/connection.hpp>
#include <examples/payments/ledger.hpp>
#include <httplib.h>

namespace payments {

struct settings {
  /// How long the bank takes for one operation.
  std::chrono::milliseconds delay{100};
  /// Whoever started this process starts it again when it dies: `tok_crash` may kill it.
  bool supervised = false;
};

/// The charges API over HTTP. Each accepted POST moves money, however often it is sent.
class api {
 public:
  api(ledger& ledger, settings settings);

  /// Binds the address and returns the port, chosen when 0 is given. Errors: std::runtime_error.
  int bind(const std::string& host, int port);
  /// Serves until stop(). Pre: bind().
  void run();
  /// Lets the running requests finish, cuts the hanging ones. Threads: any, while run() is on its
  /// way.
  void stop();

 private:
  using request = httplib::Request;
  using response = httplib::Response;

  void create_charge(const request& in, response& out);
  void capture_charge(const request& in, response& out);
  void create_refund(const request& in, response& out);
  void show_charge(const request& in, response& out);
  void list_charges(const request& in, response& out);
  void show_ledger(const request& in, response& out);

  /// Answers for the bank; true when money is to be booked.
  bool authorise(const connection& caller, std::chrono::milliseconds delay, behaviour bank,
                 response& out) const;
  /// After the booking: lets the answer go out, or sees to it that none does.
  void conclude(const connection& caller, behaviour bank) const;

  ledger& ledger_;
  const settings settings_;
  bank bank_;
  std::atomic<int> in_flight_{0};
  std::atomic<bool> stopping_{false};
  int listening_socket_ = -1;
  httplib::Server server_;
};

}  // namespace payments
