#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <conform/http/wire.hpp>

namespace conform {

/// An upstream whose queue of connections is full: whoever connects waits, and has sent nothing.
///
/// Linux drops the SYN at a full queue, so that the connection hangs instead of being refused.
class stalled_door {
 public:
  /// Errors: throws std::system_error.
  stalled_door();
  ~stalled_door();
  stalled_door(const stalled_door&) = delete;
  stalled_door& operator=(const stalled_door&) = delete;

  std::uint16_t port() const { return port_; }
  /// Lets everybody in; each request is answered with a 201 and counted.
  void open();
  int requests() const { return requests_; }

 private:
  void answer_all();

  std::uint16_t port_ = 0;
  int listener_;
  std::vector<int> fillers_;
  std::atomic<int> requests_{0};
  std::thread answering_;
};

}  // namespace conform
