#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <callonce/adapters/beast/framing.hpp>
#include <callonce/core/message.hpp>

namespace callonce::beast::detail {

/// Parses the requests of one connection, one after the other, out of bytes it is shown.
class request_reader {
 public:
  request_reader();
  ~request_reader();
  request_reader(const request_reader&) = delete;
  request_reader& operator=(const request_reader&) = delete;

  /// Forgets the request before.
  void start();

  enum class status { more, ready, malformed };

  /// Looks at all bytes since the request's first one. Post: where ready, `head_size` of them are
  /// used up and `head`, `http_1_1` and `frame` tell what they said.
  status read_head(std::string_view bytes);
  std::size_t head_size() const noexcept { return scan_.size(); }
  request& head() noexcept { return head_; }
  bool http_1_1() const noexcept;
  bool is_head() const noexcept { return is_head_; }
  const framing& frame() const noexcept { return frame_; }
  /// A word for programs. Pre: the last call said malformed.
  std::string_view reason() const noexcept { return reason_; }

  /// A step through the body: `used` bytes are done with, and those of `piece` are body.
  struct step {
    status what = status::more;
    std::size_t used = 0;
    std::string_view piece;
  };
  /// Pre: `bytes` are those that follow the ones used up.
  step read_body(std::string_view bytes);
  bool body_done() const noexcept;
  /// Body bytes that are still to come, where they are declared.
  std::uint64_t length_left() const noexcept { return length_left_; }

 private:
  struct parser;

  status refuse(std::string_view why);

  head_scan scan_;
  std::unique_ptr<parser> parser_;
  request head_;
  framing frame_;
  std::uint64_t length_left_ = 0;
  std::string_view reason_;
  bool is_head_ = false;
};

}  // namespace callonce::beast::detail
