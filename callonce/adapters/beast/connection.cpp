#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <callonce/adapters/beast/connection.hpp>

namespace callonce::beast::detail {
namespace {

using boost::system::error_code;

// What is left of a body that nobody wanted is read over when it is at most this long, so that the
// connection can be kept; a longer one costs more than a new connection.
constexpr std::uint64_t skipped_bytes_max = std::uint64_t{64} << 10;

// How long a client that still sends may take to read its answer before the connection is reset.
constexpr std::chrono::seconds linger_time{2};

// Large bodies are read in pieces of this size.
constexpr std::size_t bulk_bytes = std::size_t{64} << 10;

std::string address_of(int socket) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return "unknown";
  char text[INET6_ADDRSTRLEN] = "unix";
  if (peer.ss_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&peer);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (peer.ss_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&peer);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
      ::inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, sizeof text);
    } else {
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
  }
  return text;
}

}  // namespace

connection::connection(socket_type socket, std::shared_ptr<server::state> of)
    : socket_(std::move(socket)),
      server_(std::move(of)),
      place_(server_->enter(this, socket_.get_executor())),
      peer_(address_of(socket_.native_handle())) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  if (peer_ != "unix") {
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
}

connection::~connection() {
  server_->leave(place_);
}

void connection::enter(phase next, std::chrono::milliseconds limit) {
  phase_ = next;
  deadline_ = server_->in.now() + limit;
  expired_ = false;
}

// While a service works its own limits count.
void connection::work() {
  phase_ = phase::working;
  deadline_ = steady_time::max();
  expired_ = false;
}

void connection::check_deadline(steady_time now) {
  if (deadline_ > now) return;
  expired_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

bool connection::timed_out(const error_code& fault) const noexcept {
  return expired_ && fault == asio::error::operation_aborted;
}

std::stop_token connection::client_left() {
  if (!left_) left_.emplace();
  return left_->get_token();
}

bool connection::wants_to_know_if_left() const noexcept {
  return phase_ == phase::working && left_ && !left_->stop_requested() && socket_.is_open();
}

void connection::drain() {
  if (phase_ != phase::idle) return;
  error_code ignored;
  socket_.cancel(ignored);
}

void connection::cut() {
  broken_ = true;
  error_code ignored;
  socket_.close(ignored);
}

std::size_t connection::held_max() const noexcept {
  return std::max(bulk_bytes, server_->limits.header_bytes_max + 1);
}

asio::awaitable<std::size_t> connection::fill(error_code& fault) {
  return socket_.async_read_some(input_.room(held_max()),
                                 asio::redirect_error(asio::use_awaitable, fault));
}

asio::awaitable<void> connection::run() {
  if (server_->draining) co_return;
  for (;;) {
    const bool asked = co_await read_head();
    if (!asked) break;
    work();
    try {
      co_await server_->answers(*this);
    } catch (...) {
      // A service that threw has not answered, or has left a cut-off answer behind.
      if (answered_) broken_ = true;
    }
    if (phase_ == phase::tunnel) co_return;
    if (!answered_) {
      const result<void> said = co_await send(to_response(problem_code::internal_error));
      if (!said) broken_ = true;
    }
    if (broken_ || !keep_alive_) break;
    if (reader_.body_done()) continue;
    const bool skipped = co_await skip_body();
    if (!skipped) break;
  }
  if (!broken_) co_await linger();
}

void connection::start_request() {
  reader_.start();
  input_.shrink();
  left_.reset();
  continue_sent_ = body_failed_ = answered_ = keep_alive_ = false;
}

// Some clients end a form's body with an extra line. Source: RFC 9112 section 2.2.
void connection::skip_blank_lines() {
  while (input_.view().starts_with("\r\n")) input_.consume(2);
}

asio::awaitable<bool> connection::read_head() {
  const server_limits& limits = server_->limits;
  start_request();
  enter(phase::idle, limits.idle_timeout);
  for (;;) {
    skip_blank_lines();
    if (!input_.empty() && input_.view() != "\r") {
      if (phase_ == phase::idle) enter(phase::head, limits.header_timeout);
      const request_reader::status found = reader_.read_head(input_.view());
      if (found == request_reader::status::malformed) {
        problem why{problem_code::bad_request};
        why.reason = reader_.reason();
        co_return co_await refuse(std::move(why));
      }
      const bool whole = found == request_reader::status::ready;
      const std::size_t size = whole ? reader_.head_size() : input_.size();
      if (size > limits.header_bytes_max)
        co_return co_await refuse(problem_code::headers_too_large);
      if (whole) break;
    }
    error_code fault;
    // A request that is already here when a drain begins is still served.
    if (input_.empty() && server_->draining && socket_.available(fault) == 0) {
      broken_ = true;
      co_return false;
    }
    input_.commit(co_await fill(fault));
    if (!fault) continue;
    if (phase_ == phase::head && timed_out(fault)) {
      co_return co_await refuse(problem_code::request_timeout);
    }
    if (fault == asio::error::operation_aborted && server_->draining && !broken_) continue;
    broken_ = true;
    co_return false;
  }
  input_.consume(reader_.head_size());
  co_return true;
}

// Answers a request whose head is not to be believed. Post: false, for there is no next one.
asio::awaitable<bool> connection::refuse(problem why) {
  body_failed_ = true;
  const result<void> said = co_await send(to_response(why));
  if (!said) broken_ = true;
  co_return false;
}

bool connection::may_go_on() const noexcept {
  const framing& frame = reader_.frame();
  if (body_failed_ || server_->draining || !frame.keep_alive) return false;
  if (reader_.body_done()) return true;
  // A client that was never told to continue may send its body or not: nobody can know.
  const bool will_come = !frame.expects_continue || continue_sent_;
  return will_come && !frame.chunked && reader_.length_left() <= skipped_bytes_max;
}

asio::awaitable<void> connection::invite_body() {
  const bool waits = reader_.frame().expects_continue && !continue_sent_ && input_.empty();
  continue_sent_ = true;
  if (!waits) co_return;
  buffers parts{asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25)};
  write_now(parts);
  co_await write_rest(parts);
}

asio::awaitable<connection::body_step> connection::next_piece(std::string_view& piece) {
  for (;;) {
    const request_reader::step step = reader_.read_body(input_.view());
    input_.consume(step.used);
    if (step.what == request_reader::status::malformed) co_return body_step::malformed;
    if (!step.piece.empty()) {
      piece = step.piece;
      co_return body_step::piece;
    }
    if (reader_.body_done()) co_return body_step::end;
    // A chunk header, or trailers, without an end.
    if (input_.size() >= held_max()) co_return body_step::malformed;
    error_code fault;
    input_.commit(co_await fill(fault));
    if (timed_out(fault)) co_return body_step::timeout;
    if (fault) co_return body_step::gone;
  }
}

asio::awaitable<std::variant<body_bytes, problem, disconnected>> connection::read_body(
    std::uint64_t bytes_max) {
  if (reader_.body_done()) co_return body_bytes{};
  body_failed_ = true;  // until the last byte is there
  if (reader_.frame().content_length > bytes_max) co_return problem{problem_code::body_too_large};
  const server_limits& limits = server_->limits;
  // Each of these must come within the limit: one byte now and then would hold the connection.
  constexpr std::uint64_t progress = 1024;

  co_await invite_body();
  body_collector gathered{server_->budget, limits.memory_body_max, limits.spool_directory};
  enter(phase::body, limits.body_timeout);
  std::uint64_t next_mark = progress;
  for (;;) {
    std::string_view piece;
    const body_step step = co_await next_piece(piece);
    if (step == body_step::end) break;
    if (step == body_step::timeout) co_return problem{problem_code::request_timeout};
    if (step == body_step::gone) {
      broken_ = true;
      co_return disconnected{};
    }
    if (step == body_step::malformed) {
      problem why{problem_code::bad_request};
      why.reason = "chunk";
      co_return why;
    }
    if (piece.size() > bytes_max - gathered.size()) {
      co_return problem{problem_code::body_too_large};
    }
    if (!gathered.append(piece)) co_return problem{problem_code::overloaded};
    if (gathered.size() < next_mark) continue;
    next_mark = gathered.size() + progress;
    enter(phase::body, limits.body_timeout);
  }
  work();
  std::optional<body_bytes> whole = gathered.finish();
  if (!whole) co_return problem{problem_code::overloaded};
  body_failed_ = false;
  co_return std::move(*whole);
}

asio::awaitable<bool> connection::skip_body() {
  enter(phase::body, server_->limits.body_timeout);
  for (;;) {
    std::string_view piece;
    const body_step step = co_await next_piece(piece);
    if (step == body_step::end) co_return true;
    if (step != body_step::piece) {
      broken_ = true;
      co_return false;
    }
  }
}

// A connection closed over unread bytes is reset, and a reset can overtake the answer: so the
// client is told the end first and heard out for a while.
asio::awaitable<void> connection::linger() {
  error_code fault;
  socket_.shutdown(socket_type::shutdown_send, fault);
  if (fault || (reader_.body_done() && input_.empty())) co_return;
  enter(phase::lingering, linger_time);
  while (!fault && !expired_) {
    input_.consume(input_.size());
    input_.commit(co_await fill(fault));
  }
}

/// The body of a request that passes through.
class streamed_body final : public body_source {
 public:
  explicit streamed_body(connection& of) : of_(of) {}

  asio::awaitable<result<std::span<const std::byte>>> next() override {
    if (of_.reader_.body_done()) co_return std::span<const std::byte>{};
    of_.body_failed_ = true;
    co_await of_.invite_body();
    of_.enter(connection::phase::body, of_.server_->limits.body_timeout);
    std::string_view piece;
    const connection::body_step step = co_await of_.next_piece(piece);
    of_.work();
    of_.body_failed_ = false;
    if (step == connection::body_step::piece || step == connection::body_step::end) {
      co_return std::as_bytes(std::span{piece});
    }
    of_.body_failed_ = true;
    co_return errc::in_doubt;
  }

 private:
  connection& of_;
};

std::unique_ptr<body_source> connection::stream_body() {
  return std::make_unique<streamed_body>(*this);
}

}  // namespace callonce::beast::detail
