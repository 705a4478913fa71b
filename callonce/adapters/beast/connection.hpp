#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <callonce/adapters/beast/answer_head.hpp>
#include <callonce/adapters/beast/input_buffer.hpp>
#include <callonce/adapters/beast/request_reader.hpp>
#include <callonce/adapters/beast/server.hpp>
#include <callonce/adapters/beast/server_state.hpp>

namespace callonce::beast::detail {

/// One connection, and the exchange that is going on over it.
class connection final : public exchange, public std::enable_shared_from_this<connection> {
 public:
  using socket_type = asio::generic::stream_protocol::socket;

  connection(socket_type socket, std::shared_ptr<server::state> of);
  ~connection() override;

  /// Serves requests until either side ends it.
  asio::awaitable<void> run();

  request& head() override { return reader_.head(); }
  const std::string& peer() const override { return peer_; }
  bool has_body() const override { return reader_.frame().has_body(); }
  std::stop_token client_left() override;
  asio::awaitable<std::variant<body_bytes, problem, disconnected>> read_body(
      std::uint64_t bytes_max) override;
  std::unique_ptr<body_source> stream_body() override;
  asio::awaitable<result<void>> send_interim(const response& interim) override;
  asio::awaitable<result<void>> send(answer final) override;
  std::unique_ptr<byte_stream> take_stream() override;

  // For the server's coarse clock, and its end.
  void check_deadline(steady_time now);
  int native_handle() { return socket_.native_handle(); }
  bool wants_to_know_if_left() const noexcept;
  void tell_left() { left_->request_stop(); }
  void drain();
  void cut();

 private:
  friend class streamed_body;
  friend class raw_stream;

  enum class phase { idle, head, body, working, sending, lingering, tunnel };
  enum class body_step { piece, end, malformed, timeout, gone };
  using buffers = std::array<asio::const_buffer, 4>;

  void enter(phase next, std::chrono::milliseconds limit);
  void work();
  bool timed_out(const boost::system::error_code& fault) const noexcept;
  void start_request();
  void skip_blank_lines();
  bool may_go_on() const noexcept;
  asker asked_by() const noexcept;

  std::size_t held_max() const noexcept;
  asio::awaitable<std::size_t> fill(boost::system::error_code& fault);
  asio::awaitable<bool> read_head();
  asio::awaitable<bool> refuse(problem why);
  asio::awaitable<void> invite_body();
  asio::awaitable<body_step> next_piece(std::string_view& piece);
  asio::awaitable<bool> skip_body();
  asio::awaitable<void> linger();

  void write_now(buffers& parts);
  asio::awaitable<void> write_rest(buffers& parts);
  asio::awaitable<result<void>> send_streamed(answer& said, const answer_frame& frame);
  asio::awaitable<bool> send_pieces(answer& said, const answer_frame& frame);
  asio::awaitable<bool> send_piece(std::string_view piece, const answer_frame& frame);

  socket_type socket_;
  std::shared_ptr<server::state> server_;
  std::list<connection*>::iterator place_;
  std::string peer_;

  input_buffer input_;
  request_reader reader_;
  std::string text_;  // heads that are being sent
  std::optional<std::stop_source> left_;

  phase phase_ = phase::idle;
  steady_time deadline_ = steady_time::max();
  bool expired_ = false;

  bool continue_sent_ = false;
  bool body_failed_ = false;
  bool answered_ = false;
  bool keep_alive_ = false;
  bool broken_ = false;  // nothing more can or need be said
};

}  // namespace callonce::beast::detail
