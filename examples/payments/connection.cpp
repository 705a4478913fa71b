#include <filesystem>
#include <stdexcept>

#include <arpa/inet.h>
#include <examples/payments/connection.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace payments {
namespace {

bool is_from(int socket, const std::string& address, int port) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  char text[INET_ADDRSTRLEN] = {};
  return peer.sin_family == AF_INET && ntohs(peer.sin_port) == port &&
         inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text) != nullptr && address == text;
}

}  // namespace

connection::connection(const httplib::Request& request) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int candidate = std::stoi(entry.path().filename());
    if (is_from(candidate, request.remote_addr, request.remote_port)) {
      socket_ = candidate;
      return;
    }
  }
  throw std::runtime_error("the caller has gone");
}

bool connection::wait(std::chrono::milliseconds duration) const {
  // Only the end of the connection is waited for: a pipelined request is no reason to stop.
  pollfd watched{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(duration.count())) == 0;
}

void connection::cut() const {
  ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace payments
