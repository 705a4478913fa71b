#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace conform {

using steady = std::chrono::steady_clock;

/// One TCP connection read and written byte by byte, each operation bounded by one deadline.
///
/// Threads: one at a time. Errors: an operation that fails says so and leaves its reason in `why`.
class wire {
 public:
  wire() = default;
  /// Takes over an accepted socket.
  explicit wire(int descriptor);
  ~wire();
  wire(wire&& other) noexcept;
  wire& operator=(wire&& other) noexcept;

  /// A connection to a loopback port; `is_open` is false where there is none.
  static wire connect(std::uint16_t port);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// The instant after which every read and write fails.
  void deadline(steady::time_point instant) { deadline_ = instant; }
  /// Why the last operation failed: "ended", "cut", "late" or "too long".
  std::string_view why() const { return why_; }

  bool write(std::string_view bytes);
  /// The next line without its CRLF or LF.
  std::optional<std::string> line();
  /// Appends exactly `count` bytes.
  bool read(std::size_t count, std::string& into);
  /// Appends whatever has come or comes next; false at the end of the stream.
  bool read_some(std::string& into);
  /// True when the peer ends or cuts the connection before the deadline, whatever it sends first.
  bool peer_leaves();

  /// Ends this side's stream; the peer may still send.
  void end_writing();
  /// Makes `close` cut the connection with a TCP reset.
  void reset_on_close();
  void close();

 private:
  bool wait(short events);
  bool fill();

  int descriptor_ = -1;
  steady::time_point deadline_ = steady::time_point::max();
  std::string buffer_;
  std::string_view why_;
};

/// A listening socket on a free loopback port. Errors: throws std::system_error.
/// Post: `port` holds the port that was chosen.
int listen_on_loopback(std::uint16_t& port, int backlog);

}  // namespace conform
