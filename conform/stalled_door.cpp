#include <arpa/inet.h>
#include <conform/http/message.hpp>
#include <conform/stalled_door.hpp>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace conform {
namespace {

// The kernel holds one connection more than asked for; the rest makes sure.
constexpr int fillers = 4;
// Loopback connects at once or, at a full queue, not at all.
constexpr int connect_patience_ms = 50;

}  // namespace

stalled_door::stalled_door() : listener_(listen_on_loopback(port_, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_);
  for (int i = 0; i < fillers; ++i) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // Not blocking: the door's queue takes it, or stays full.
    static_cast<void>(
        ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    pollfd one{descriptor, POLLOUT, 0};
    ::poll(&one, 1, connect_patience_ms);
    fillers_.push_back(descriptor);
  }
}

stalled_door::~stalled_door() {
  ::shutdown(listener_, SHUT_RDWR);
  for (const int descriptor : fillers_) ::close(descriptor);
  if (answering_.joinable()) answering_.join();
  ::close(listener_);
}

void stalled_door::open() {
  for (const int descriptor : fillers_) ::close(descriptor);
  fillers_.clear();
  answering_ = std::thread{[this] { answer_all(); }};
}

void stalled_door::answer_all() {
  for (;;) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    wire peer{descriptor};
    peer.deadline(steady::now() + std::chrono::seconds{5});
    received request;
    if (!read_request_head(peer, request) || !read_request_body(peer, request)) continue;
    ++requests_;
    peer.write("HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  }
}

}  // namespace conform
