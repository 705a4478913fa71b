#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include <boost/asio/buffer.hpp>

namespace callonce::beast::detail {

/// Bytes of one connection that were read and not yet used. Views stay valid until `room`.
class input_buffer {
 public:
  std::string_view view() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }
  std::size_t size() const noexcept { return end_ - begin_; }
  bool empty() const noexcept { return begin_ == end_; }

  void consume(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  /// Where the next read goes; empty when it would have to hold more than `bytes_max`.
  boost::asio::mutable_buffer room(std::size_t bytes_max) {
    if (begin_ != 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    }
    // A read that filled all it was offered has more behind it.
    if (was_filled_ || capacity_ == 0) grow(bytes_max);
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t count) noexcept {
    end_ += count;
    was_filled_ = end_ == capacity_;
  }

  /// Gives back what a large request needed, before the connection idles.
  void shrink() {
    if (capacity_ > first_capacity && empty()) *this = input_buffer{};
  }

 private:
  // Most heads fit, and thousands of idle connections stay cheap.
  static constexpr std::size_t first_capacity = 4096;

  void grow(std::size_t bytes_max) {
    const std::size_t wanted = std::min(std::max(first_capacity, capacity_ * 2), bytes_max);
    if (wanted <= capacity_) return;
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (!empty()) std::memcpy(larger.get(), bytes_.get(), end_);
    bytes_ = std::move(larger);
    capacity_ = wanted;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool was_filled_ = false;
};

}  // namespace callonce::beast::detail
