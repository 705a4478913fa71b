#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gateway/upstream_connection.hpp>
#include <sys/socket.h>

#include <callonce/engine/completion.hpp>

namespace callonce::gateway {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using address_type = asio::generic::stream_protocol::endpoint;
using addresses = std::vector<address_type>;

// Enough for the head and the whole answer of most requests; more is read piece by piece.
constexpr std::size_t read_buffer_min = std::size_t{16} << 10;

// A look-up may outlive those who asked: the system's resolver cannot be interrupted.
struct look_up {
  explicit look_up(const asio::any_io_executor& executor) : resolver(executor) {}

  void finish(addresses found) {
    if (!resume) return;
    timeout.reset();
    auto once = std::exchange(resume, {});
    once(std::move(found));
  }

  tcp::resolver resolver;
  std::unique_ptr<alarm> timeout;
  detail::completion<addresses> resume;
};

asio::awaitable<addresses> resolve(const asio::any_io_executor& executor, const endpoint& name,
                                   environment& in, steady_time deadline) {
  error_code no_number;
  const auto number = asio::ip::make_address(name.host, no_number);
  if (!no_number) co_return addresses(1, address_type{tcp::endpoint{number, name.port}});

  const std::string port = std::to_string(name.port);
  auto start = [&](detail::completion<addresses> resume) {
    const auto running = std::make_shared<look_up>(executor);
    running->resume = std::move(resume);
    running->timeout = in.call_at(executor, deadline, [weak = std::weak_ptr{running}] {
      if (const auto alive = weak.lock()) alive->finish({});
    });
    running->resolver.async_resolve(
        name.host, port, tcp::resolver::numeric_service,
        [running](const error_code& fault, const tcp::resolver::results_type& found) {
          addresses made;
          if (!fault) {
            for (const auto& each : found) made.emplace_back(each.endpoint());
          }
          running->finish(std::move(made));
        });
  };
  co_return co_await detail::suspend<addresses>(start);
}

// One suspended coroutine that the first of two readiness waits resumes.
struct first_of_two {
  void finish() {
    if (!resume) return;
    auto once = std::exchange(resume, {});
    once(true);
  }
  detail::completion<bool> resume;
};

}  // namespace

void gathered_bytes::consume(std::size_t written) noexcept {
  while (written > 0) {
    asio::const_buffer& part = parts_[first_];
    const std::size_t here = std::min(written, part.size());
    part += here;
    written -= here;
    if (part.size() == 0) ++first_;
  }
}

upstream_connection::upstream_connection(const asio::any_io_executor& executor,
                                         std::size_t header_bytes_max)
    : executor_(executor),
      socket_(executor),
      buffer_(std::max(read_buffer_min, header_bytes_max)),
      reader_(header_bytes_max) {}

asio::awaitable<bool> upstream_connection::connect(const endpoint& to, environment& in,
                                                   std::chrono::milliseconds patience) {
  const steady_time deadline = in.now() + patience;
  if (to.is_unix()) {
    const address_type path{asio::local::stream_protocol::endpoint{to.path}};
    co_return co_await connect_to(path, in, deadline);
  }
  const addresses found = co_await resolve(executor_, to, in, deadline);
  for (std::size_t at = 0; at < found.size() && !closed_; ++at) {
    const steady_time now = in.now();
    const bool is_last = at + 1 == found.size();
    // An address that swallows packets leaves time for the ones behind it.
    const steady_time until = is_last ? deadline : now + (deadline - now) / 2;
    if (until <= now) break;
    const bool reached = co_await connect_to(found[at], in, until);
    if (reached) co_return true;
  }
  co_return false;
}

asio::awaitable<bool> upstream_connection::connect_to(const address_type& address, environment& in,
                                                      steady_time deadline) {
  socket_ = socket_type{executor_};
  const auto timeout = in.call_at(executor_, deadline, [this] {
    error_code ignored;
    socket_.close(ignored);
  });
  error_code fault;
  co_await socket_.async_connect(address, asio::redirect_error(asio::use_awaitable, fault));
  if (fault || closed_ || !socket_.is_open()) {
    error_code ignored;
    socket_.close(ignored);
    co_return false;
  }
  socket_.non_blocking(true, fault);
  if (address.protocol().family() != AF_UNIX) socket_.set_option(tcp::no_delay{true}, fault);
  co_return !fault;
}

void upstream_connection::close_on(std::stop_token cancel) {
  if (cancel.stop_possible()) on_cancel_.emplace(std::move(cancel), closer{this});
}

void upstream_connection::close() noexcept {
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
}

bool upstream_connection::is_quiet() const noexcept {
  char byte = 0;
  auto& socket = const_cast<socket_type&>(socket_);
  const auto got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool upstream_connection::write_some(gathered_bytes& bytes) {
  error_code fault;
  const std::size_t written = socket_.write_some(bytes.left(), fault);
  bytes.consume(written);
  return !fault || fault == asio::error::would_block;
}

asio::awaitable<void> upstream_connection::ready() {
  auto start = [this](detail::completion<bool> resume) {
    const auto both = std::make_shared<first_of_two>();
    both->resume = std::move(resume);
    const auto finish = [both](const error_code&) { both->finish(); };
    socket_.async_wait(socket_type::wait_read, finish);
    socket_.async_wait(socket_type::wait_write, finish);
  };
  co_await detail::suspend<bool>(start);
  error_code ignored;
  socket_.cancel(ignored);
}

asio::awaitable<void> upstream_connection::read() {
  error_code fault;
  const asio::mutable_buffer into = room();
  std::size_t bytes = 0;
  if (into.size() == 0) {
    fault = asio::error::no_buffer_space;
  } else {
    bytes =
        co_await socket_.async_read_some(into, asio::redirect_error(asio::use_awaitable, fault));
  }
  received(fault, bytes);
}

void upstream_connection::read_at_once() {
  const asio::mutable_buffer into = room();
  if (into.size() == 0) return reader_.fail();
  error_code fault;
  const std::size_t bytes = socket_.read_some(into, fault);
  if (fault != asio::error::would_block) received(fault, bytes);
}

void upstream_connection::start_next_answer(bool answers_head) {
  reader_.start(answers_head);
  feed_reader();
}

asio::mutable_buffer upstream_connection::room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

void upstream_connection::received(const error_code& fault, std::size_t bytes) {
  if (fault == asio::error::eof) {
    reader_.end();
  } else if (fault) {
    reader_.fail();
  } else {
    end_ += bytes;
    feed_reader();
  }
}

void upstream_connection::feed_reader() {
  begin_ += reader_.feed(unread());
}

}  // namespace callonce::gateway
