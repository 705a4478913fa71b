#include <cstdlib>
#include <stdexcept>

#include <gateway/scripted_application.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace callonce::gateway::testing {
namespace {

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string{"scripted application: "} + what);
}

std::size_t announced_length(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
}

}  // namespace

raw_connection::raw_connection(int socket) : socket_(socket) {
  const timeval patience{5, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

raw_connection::~raw_connection() {
  close();
}

std::string raw_connection::read_some(std::size_t bytes) {
  if (held_.empty()) {
    held_.resize(bytes);
    const auto got = ::recv(socket_, held_.data(), bytes, 0);
    held_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  std::string piece = held_.substr(0, bytes);
  held_.erase(0, bytes);
  return piece;
}

std::string raw_connection::read_head() {
  std::string text;
  for (;;) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      held_ = text.substr(end + 4) + held_;
      return text.substr(0, end + 4);
    }
    const std::string piece = read_some();
    if (piece.empty()) return {};
    text += piece;
  }
}

std::string raw_connection::read_request() {
  std::string text = read_head();
  if (text.find("Transfer-Encoding: chunked") != std::string::npos) {
    while (!text.ends_with("0\r\n\r\n")) {
      const std::string piece = read_some();
      if (piece.empty()) return {};
      text += piece;
    }
    return text;
  }
  for (std::size_t left = announced_length(text); left > 0;) {
    const std::string piece = read_some(left);
    if (piece.empty()) return {};
    text += piece;
    left -= piece.size();
  }
  return text;
}

bool raw_connection::sees_end() {
  char byte = 0;
  return held_.empty() && ::recv(socket_, &byte, 1, 0) == 0;
}

void raw_connection::send(std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void raw_connection::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void raw_connection::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

scripted_application::scripted_application(script each, const std::string& path)
    : each_(std::move(each)) {
  if (path.empty()) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    check(::bind(listener_, plain, size) == 0, "bind");
    check(::getsockname(listener_, plain, &size) == 0, "getsockname");
    where_.host = "127.0.0.1";
    where_.port = ntohs(address.sin_port);
  } else {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    check(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    where_.path = path;
  }
  check(::listen(listener_, 64) == 0, "listen");
  accepting_ = std::thread{[this] { accept_all(); }};
}

scripted_application::~scripted_application() {
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  for (std::thread& each : running_) each.join();
  ::close(listener_);
}

void scripted_application::accept_all() {
  for (;;) {
    const int socket = ::accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    const int number = ++connections_;
    running_.emplace_back([this, socket, number] {
      raw_connection connection{socket};
      each_(connection, number);
    });
  }
}

}  // namespace callonce::gateway::testing
