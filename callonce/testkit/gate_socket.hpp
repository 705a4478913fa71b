#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include <sys/socket.h>

namespace callonce::testkit::detail {

/// A descriptor, closed with its owner.
class gate_socket {
 public:
  gate_socket() = default;
  explicit gate_socket(int handle) noexcept : handle_(handle) {}
  gate_socket(gate_socket&& from) noexcept : handle_(std::exchange(from.handle_, -1)) {}
  gate_socket& operator=(gate_socket&& from) noexcept {
    std::swap(handle_, from.handle_);
    return *this;
  }
  ~gate_socket() { close(); }

  int handle() const noexcept { return handle_; }
  bool is_open() const noexcept { return handle_ >= 0; }
  void close() noexcept;
  /// Closes the connection so that the other end gets a reset.
  void reset() noexcept;
  void finish_writing() noexcept;
  /// Whether all that was written has arrived at the other end, or never will.
  bool is_delivered() const noexcept;
  /// Post: what the system has against this socket; 0: nothing.
  int take_fault() const noexcept;

 private:
  int handle_ = -1;
};

/// Where the server behind a gate listens.
class gate_address {
 public:
  explicit gate_address(std::uint16_t loopback_port);
  /// Errors: throws std::system_error when the path is too long for a socket.
  explicit gate_address(const std::filesystem::path& socket);

  /// Errors: a closed socket when the server refuses.
  /// Post: `pending` tells that the connection is not established yet.
  gate_socket connect(bool& pending) const;

 private:
  sockaddr_storage bytes_{};
  socklen_t size_ = 0;
};

/// A socket on a loopback port, 0 for a free one; several may share the port while none listens.
/// Errors: throws std::system_error.
gate_socket bind_to_loopback(std::uint16_t port);
/// Errors: throws std::system_error.
void listen_on(const gate_socket& bound);
std::uint16_t port_of(const gate_socket& bound);
/// Errors: a closed socket when nobody waits to be accepted.
gate_socket accept_from(const gate_socket& listener);

}  // namespace callonce::testkit::detail
