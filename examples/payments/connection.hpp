#pragma once

#include <chrono>

#include <httplib.h>

namespace payments {

/// The TCP connection that a request came in on. cpp-httplib keeps it to itself, so it is found
/// among this process's sockets by the caller's address. Pre: used within the request's handler
/// only.
class connection {
 public:
  explicit connection(const httplib::Request& request);

  /// Waits out `duration`; false, at once, when the caller hangs up meanwhile.
  bool wait(std::chrono::milliseconds duration) const;
  /// Ends the connection without an answer.
  void cut() const;

 private:
  int socket_ = -1;
};

}  // namespace payments
