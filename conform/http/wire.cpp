#include <cerrno>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <conform/http/wire.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace conform {
namespace {

// Longer than any line a row sends or expects; a peer that never ends its line is a failure.
constexpr std::size_t line_bytes_max = 1 << 20;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

wire::wire(int descriptor) : descriptor_(descriptor) {
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

wire::~wire() {
  close();
}

wire::wire(wire&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      deadline_(other.deadline_),
      buffer_(std::move(other.buffer_)),
      why_(other.why_) {}

wire& wire::operator=(wire&& other) noexcept {
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  deadline_ = other.deadline_;
  buffer_ = std::move(other.buffer_);
  why_ = other.why_;
  return *this;
}

wire wire::connect(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return {};
  wire made{descriptor};
  const sockaddr_in address = loopback(port);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    made.close();
    made.why_ = "cut";
  }
  return made;
}

bool wire::wait(short events) {
  if (!is_open()) {
    why_ = "cut";
    return false;
  }
  for (;;) {
    int patience_ms = -1;
    if (deadline_ != steady::time_point::max()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady::now()).count();
      patience_ms = left > 0 ? static_cast<int>(left) : 0;
    }
    pollfd one{descriptor_, events, 0};
    const int ready = ::poll(&one, 1, patience_ms);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) {
      why_ = "late";
      return false;
    }
  }
}

bool wire::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return false;
    const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      why_ = "cut";
      return false;
    }
  }
  return true;
}

bool wire::fill() {
  if (!wait(POLLIN)) return false;
  char chunk[1 << 16];
  const auto got = ::recv(descriptor_, chunk, sizeof chunk, 0);
  if (got > 0) {
    buffer_.append(chunk, static_cast<std::size_t>(got));
    return true;
  }
  why_ = got == 0 ? "ended" : "cut";
  return false;
}

std::optional<std::string> wire::line() {
  std::size_t looked_at = 0;
  for (;;) {
    const auto end = buffer_.find('\n', looked_at);
    if (end != std::string::npos) {
      std::string found = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (!found.empty() && found.back() == '\r') found.pop_back();
      return found;
    }
    looked_at = buffer_.size();
    if (looked_at > line_bytes_max) {
      why_ = "too long";
      return std::nullopt;
    }
    if (!fill()) return std::nullopt;
  }
}

bool wire::read(std::size_t count, std::string& into) {
  while (buffer_.size() < count) {
    if (!fill()) return false;
  }
  into.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

bool wire::read_some(std::string& into) {
  if (buffer_.empty() && !fill()) return false;
  into += std::exchange(buffer_, {});
  return true;
}

bool wire::peer_leaves() {
  std::string ignored;
  while (read_some(ignored)) ignored.clear();
  return why_ != "late";
}

void wire::end_writing() {
  if (is_open()) ::shutdown(descriptor_, SHUT_WR);
}

void wire::reset_on_close() {
  if (!is_open()) return;
  const linger at_once{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void wire::close() {
  if (is_open()) ::close(std::exchange(descriptor_, -1));
}

int listen_on_loopback(std::uint16_t& port, int backlog) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(port);
  socklen_t length = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const int on = 1;
  if (descriptor < 0 || ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(descriptor, plain, length) != 0 || ::listen(descriptor, backlog) != 0 ||
      ::getsockname(descriptor, plain, &length) != 0) {
    const std::error_code code{errno, std::system_category()};
    if (descriptor >= 0) ::close(descriptor);
    throw std::system_error(code, "listening on 127.0.0.1");
  }
  port = ntohs(address.sin_port);
  return descriptor;
}

}  // namespace conform
