#include <cerrno>
#include <cstring>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include <callonce/testkit/gate_socket.hpp>

namespace callonce::testkit::detail {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  made.sin_port = htons(port);
  return made;
}

// Small messages are not to wait for each other: what was written last has then left when the
// connection is cut.
void send_at_once(int handle) {
  const int on = 1;
  ::setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void gate_socket::close() noexcept {
  if (is_open()) ::close(std::exchange(handle_, -1));
}

void gate_socket::reset() noexcept {
  const linger at_once{1, 0};
  if (is_open()) ::setsockopt(handle_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void gate_socket::finish_writing() noexcept {
  if (is_open()) ::shutdown(handle_, SHUT_WR);
}

bool gate_socket::is_delivered() const noexcept {
  int waiting = 0;
  return !is_open() || ::ioctl(handle_, TIOCOUTQ, &waiting) != 0 || waiting == 0 ||
         take_fault() != 0;
}

int gate_socket::take_fault() const noexcept {
  int fault = 0;
  socklen_t size = sizeof fault;
  if (::getsockopt(handle_, SOL_SOCKET, SO_ERROR, &fault, &size) != 0) return errno;
  return fault;
}

gate_address::gate_address(std::uint16_t loopback_port) : size_(sizeof(sockaddr_in)) {
  const sockaddr_in at = loopback(loopback_port);
  std::memcpy(&bytes_, &at, sizeof at);
}

gate_address::gate_address(const std::filesystem::path& socket) : size_(sizeof(sockaddr_un)) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::string& name = socket.native();
  if (name.size() >= sizeof at.sun_path) {
    throw std::system_error{std::make_error_code(std::errc::filename_too_long), name};
  }
  std::memcpy(at.sun_path, name.c_str(), name.size() + 1);
  std::memcpy(&bytes_, &at, sizeof at);
}

gate_socket gate_address::connect(bool& pending) const {
  gate_socket made{::socket(bytes_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!made.is_open()) return made;
  if (bytes_.ss_family == AF_INET) send_at_once(made.handle());
  const int failed = ::connect(made.handle(), reinterpret_cast<const sockaddr*>(&bytes_), size_);
  pending = failed != 0 && errno == EINPROGRESS;
  if (failed != 0 && !pending) made.close();
  return made;
}

gate_socket bind_to_loopback(std::uint16_t port) {
  gate_socket made{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!made.is_open()) fail("socket");
  const int on = 1;
  ::setsockopt(made.handle(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in at = loopback(port);
  if (::bind(made.handle(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail("bind");
  return made;
}

void listen_on(const gate_socket& bound) {
  if (::listen(bound.handle(), SOMAXCONN) != 0) fail("listen");
}

std::uint16_t port_of(const gate_socket& bound) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  if (::getsockname(bound.handle(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    fail("getsockname");
  }
  return ntohs(at.sin_port);
}

gate_socket accept_from(const gate_socket& listener) {
  gate_socket made{::accept4(listener.handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (made.is_open()) send_at_once(made.handle());
  return made;
}

}  // namespace callonce::testkit::detail
