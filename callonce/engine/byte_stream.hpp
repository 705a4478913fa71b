#pragma once

#include <cstddef>
#include <span>

#include <boost/asio/awaitable.hpp>

#include <callonce/core/error.hpp>

namespace callonce {

namespace asio = boost::asio;

/// Raw bytes both ways: what is left of a connection after 101 Switching Protocols.
class byte_stream {
 public:
  byte_stream() = default;
  byte_stream(const byte_stream&) = delete;
  byte_stream& operator=(const byte_stream&) = delete;
  virtual ~byte_stream() = default;

  /// Reads at least one byte into `into`; 0 is the end.
  [[nodiscard]] virtual asio::awaitable<result<std::size_t>> read_some(
      std::span<std::byte> into) = 0;
  [[nodiscard]] virtual asio::awaitable<result<void>> write(std::span<const std::byte> bytes) = 0;
  /// Says that no more bytes will be written.
  virtual void finish_writing() = 0;
  /// Ends both directions at once; pending reads and writes fail.
  virtual void close() = 0;
};

}  // namespace callonce
