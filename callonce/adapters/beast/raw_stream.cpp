#include <algorithm>
#include <cstring>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <callonce/adapters/beast/connection.hpp>

namespace callonce::beast::detail {

using boost::system::error_code;

/// What is left of a connection after a 101: it keeps the connection alive and counted.
class raw_stream final : public byte_stream {
 public:
  explicit raw_stream(std::shared_ptr<connection> of) : of_(std::move(of)) {}
  ~raw_stream() override { close(); }

  asio::awaitable<result<std::size_t>> read_some(std::span<std::byte> into) override {
    // What came right behind the request was read together with it.
    if (!of_->input_.empty()) {
      const std::size_t count = std::min(into.size(), of_->input_.size());
      std::memcpy(into.data(), of_->input_.view().data(), count);
      of_->input_.consume(count);
      co_return count;
    }
    error_code fault;
    const std::size_t count = co_await of_->socket_.async_read_some(
        asio::buffer(into.data(), into.size()), asio::redirect_error(asio::use_awaitable, fault));
    if (fault == asio::error::eof) co_return std::size_t{0};
    if (fault) co_return errc::in_doubt;
    co_return count;
  }

  asio::awaitable<result<void>> write(std::span<const std::byte> bytes) override {
    error_code fault;
    co_await asio::async_write(of_->socket_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, fault));
    if (fault) co_return errc::in_doubt;
    co_return result<void>{};
  }

  void finish_writing() override {
    error_code ignored;
    of_->socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  }

  void close() override { of_->cut(); }

 private:
  std::shared_ptr<connection> of_;
};

std::unique_ptr<byte_stream> connection::take_stream() {
  phase_ = phase::tunnel;
  deadline_ = steady_time::max();
  return std::make_unique<raw_stream>(shared_from_this());
}

}  // namespace callonce::beast::detail
