#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <stdexcept>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gateway/listener.hpp>
#include <unistd.h>

#include <callonce/engine/event.hpp>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;
using protocol = asio::generic::stream_protocol;
using acceptor = asio::basic_socket_acceptor<protocol>;

// Without descriptors or memory every accept fails at once; some connection will end meanwhile.
constexpr std::chrono::milliseconds pause_after_failure = 100ms;

std::string advice(int fault) {
  switch (fault) {
    case EADDRINUSE:
      return "is in use: stop the program that listens there, or choose another address";
    case EACCES:
      return "is not allowed: choose a port above 1023 or a directory that may be written to";
    case EADDRNOTAVAIL:
      return "is no address of this host: use one of its own, or 0.0.0.0 for all";
    case ENOENT:
      return "has no directory: create it first";
    default:
      return std::string{"cannot be opened: "} + std::strerror(fault);
  }
}

[[noreturn]] void fail(std::string_view setting, const endpoint& at,
                       const boost::system::error_code& fault) {
  throw std::runtime_error(std::string{setting} + ": " + to_text(at) + " " + advice(fault.value()));
}

// A socket file outlives the process that made it; one that still answers is somebody's.
void remove_stale_socket(const asio::any_io_executor& executor, const endpoint& at) {
  asio::local::stream_protocol::socket probe(executor);
  boost::system::error_code fault;
  probe.connect(asio::local::stream_protocol::endpoint{at.path}, fault);
  if (fault == boost::system::errc::connection_refused) ::unlink(at.path.c_str());
}

acceptor open(const asio::any_io_executor& executor, std::string_view setting, const endpoint& at) {
  protocol::endpoint native;
  if (at.is_unix()) {
    remove_stale_socket(executor, at);
    native = asio::local::stream_protocol::endpoint{at.path};
  } else {
    native = asio::ip::tcp::endpoint{asio::ip::make_address(at.host), at.port};
  }
  acceptor made(executor);
  boost::system::error_code fault;
  made.open(at.is_unix()
                ? protocol{asio::local::stream_protocol{}}
                : protocol{asio::ip::tcp::endpoint{asio::ip::make_address(at.host), 0}.protocol()},
            fault);
  if (!fault && !at.is_unix()) made.set_option(asio::socket_base::reuse_address(true), fault);
  if (!fault) made.bind(native, fault);
  if (!fault) made.listen(asio::socket_base::max_listen_connections, fault);
  if (fault) fail(setting, at, fault);
  return made;
}

endpoint where_is(const acceptor& open, endpoint asked) {
  if (asked.is_unix()) return asked;
  asio::ip::tcp::endpoint native;
  const protocol::endpoint local = open.local_endpoint();
  native.resize(local.size());
  std::memcpy(native.data(), local.data(), local.size());
  asked.port = native.port();
  return asked;
}

}  // namespace

class listener::state : public std::enable_shared_from_this<listener::state> {
 public:
  state(asio::any_io_executor executor, std::string_view setting, const std::vector<endpoint>& at,
        beast::service answers, const beast::server_limits& limits, std::size_t connections_max,
        environment& in)
      : executor_(std::move(executor)),
        server_(std::move(answers), limits, in),
        connections_max_(connections_max),
        env_(in) {
    for (const endpoint& each : at) {
      acceptors_.push_back(open(executor_, setting, each));
      where_.push_back(where_is(acceptors_.back(), each));
    }
  }

  void start() {
    for (acceptor& each : acceptors_) {
      asio::co_spawn(executor_, accept_from(shared_from_this(), each), asio::detached);
    }
  }

  void stop_accepting() {
    stopped_ = true;
    for (acceptor& each : acceptors_) {
      boost::system::error_code ignored;
      each.close(ignored);
    }
    for (const endpoint& each : where_) {
      if (each.is_unix()) ::unlink(each.path.c_str());
    }
    where_.clear();
    make_room();
  }

  const std::vector<endpoint>& where() const { return where_; }
  beast::server& server() { return server_; }
  std::size_t open_connections() const { return open_; }

 private:
  static asio::awaitable<void> accept_from(std::shared_ptr<state> self, acceptor& from) {
    while (!self->stopped_) {
      if (self->open_ >= self->connections_max_) {
        co_await self->wait_for_room();
        continue;
      }
      boost::system::error_code fault;
      protocol::socket accepted =
          co_await from.async_accept(asio::redirect_error(asio::use_awaitable, fault));
      if (self->stopped_) break;
      if (fault) {
        co_await detail::sleep_until(self->env_, self->env_.now() + pause_after_failure);
        continue;
      }
      boost::system::error_code ignored;
      accepted.set_option(asio::ip::tcp::no_delay(true), ignored);
      ++self->open_;
      asio::co_spawn(self->executor_, serve(self, std::move(accepted)), asio::detached);
    }
  }

  static asio::awaitable<void> serve(std::shared_ptr<state> self, protocol::socket accepted) {
    co_await self->server_.serve(std::move(accepted));
    --self->open_;
    self->make_room();
  }

  asio::awaitable<void> wait_for_room() {
    const std::shared_ptr<detail::event> room = room_now_;
    co_await room->wait(env_, steady_time::max());
  }
  void make_room() {
    room_now_->fire();
    room_now_ = std::make_shared<detail::event>();
  }

  asio::any_io_executor executor_;
  beast::server server_;
  const std::size_t connections_max_;
  environment& env_;
  std::list<acceptor> acceptors_;  // A coroutine refers to each.
  std::vector<endpoint> where_;
  std::size_t open_ = 0;
  std::shared_ptr<detail::event> room_now_ = std::make_shared<detail::event>();
  bool stopped_ = false;
};

listener::listener(asio::any_io_executor executor, std::string_view setting,
                   const std::vector<endpoint>& at, beast::service answers,
                   const beast::server_limits& limits, std::size_t connections_max, environment& in)
    : state_(std::make_shared<state>(std::move(executor), setting, at, std::move(answers), limits,
                                     connections_max, in)) {}

listener::~listener() {
  close();
}

std::vector<endpoint> listener::where() const {
  return state_->where();
}
void listener::start() {
  state_->start();
}
std::size_t listener::connections() const noexcept {
  return state_->open_connections();
}

void listener::drain() {
  state_->stop_accepting();
  state_->server().drain();
}

asio::awaitable<bool> listener::drained(steady_time deadline) {
  return state_->server().drained(deadline);
}

void listener::close() {
  state_->stop_accepting();
  state_->server().close();
}

}  // namespace callonce::gateway
