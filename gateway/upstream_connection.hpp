#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <gateway/address.hpp>
#include <gateway/response_reader.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// Bytes that are to be written in one go, gathered from a few places.
class gathered_bytes {
 public:
  void add(std::string_view text) { add(std::as_bytes(std::span{text.data(), text.size()})); }
  void add(std::span<const std::byte> bytes) {
    if (empty()) first_ = count_ = 0;
    if (!bytes.empty()) parts_[count_++] = asio::const_buffer{bytes.data(), bytes.size()};
  }
  /// The parts that are still to be written.
  std::span<const asio::const_buffer> left() const noexcept {
    return std::span{parts_}.first(count_).subspan(first_);
  }
  bool empty() const noexcept { return first_ == count_; }
  std::size_t size() const noexcept { return asio::buffer_size(left()); }
  void consume(std::size_t written) noexcept;

 private:
  std::array<asio::const_buffer, 4> parts_;  // head, chunk size, content, end of chunk
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// One connection to the application: its socket, and what was read of the answer on it.
/// Threads: the executor it was made with.
class upstream_connection {
 public:
  using socket_type = asio::generic::stream_protocol::socket;

  upstream_connection(const asio::any_io_executor& executor, std::size_t header_bytes_max);
  upstream_connection(const upstream_connection&) = delete;
  upstream_connection& operator=(const upstream_connection&) = delete;

  /// Resolves `to` and tries its addresses in turn.
  /// Post: false when none was reached within `patience`, or when `close` was called meanwhile.
  [[nodiscard]] asio::awaitable<bool> connect(const endpoint& to, environment& in,
                                              std::chrono::milliseconds patience);

  /// Closes the connection as soon as `cancel` is requested.
  void close_on(std::stop_token cancel);
  void ignore_cancel() noexcept { on_cancel_.reset(); }
  void close() noexcept;

  /// Whether nothing waits to be read: no end of stream, no stray byte.
  bool is_quiet() const noexcept;

  /// Writes what the kernel takes at once.
  /// Post: true unless the connection failed; `bytes` holds what is left.
  bool write_some(gathered_bytes& bytes);
  /// Waits until more can be written, or something can be read.
  [[nodiscard]] asio::awaitable<void> ready();
  /// Reads once and hands the bytes to `reader`.
  [[nodiscard]] asio::awaitable<void> read();
  /// The same with what is there already, without waiting.
  void read_at_once();
  /// Goes on from an interim answer to the next one.
  void start_next_answer(bool answers_head);
  /// Whether bytes came behind the answer.
  bool has_unread() const noexcept { return begin_ != end_; }
  std::string_view unread() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  void drop_unread(std::size_t bytes) noexcept { begin_ += bytes; }

  socket_type& socket() noexcept { return socket_; }
  response_reader& reader() noexcept { return reader_; }

  std::string head;          ///< Room for the head of a request, reused.
  steady_time idle_since{};  ///< Where it lies in the pool.

 private:
  struct closer {
    upstream_connection* connection;
    void operator()() const noexcept { connection->close(); }
  };
  asio::awaitable<bool> connect_to(const asio::generic::stream_protocol::endpoint& address,
                                   environment& in, steady_time deadline);
  asio::mutable_buffer room();
  void received(const boost::system::error_code& fault, std::size_t bytes);
  void feed_reader();

  asio::any_io_executor executor_;
  socket_type socket_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  response_reader reader_;
  bool closed_ = false;
  std::optional<std::stop_callback<closer>> on_cancel_;
};

}  // namespace callonce::gateway
