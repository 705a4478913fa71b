#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <callonce/adapters/beast/connection.hpp>

namespace callonce::beast::detail {
namespace {

using boost::system::error_code;

asio::const_buffer buffer_of(std::string_view text) {
  return {text.data(), text.size()};
}

template <class Buffers>
bool is_written(const Buffers& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const asio::const_buffer& part) { return part.size() == 0; });
}

template <class Buffers>
void drop_front(Buffers& parts, std::size_t count) {
  for (asio::const_buffer& part : parts) {
    const std::size_t here = std::min(count, part.size());
    part += here;
    count -= here;
  }
}

}  // namespace

// Most answers fit the socket's buffer: they are gone in one call, without a suspension.
void connection::write_now(buffers& parts) {
  error_code fault;
  while (!broken_ && !is_written(parts)) {
    drop_front(parts, socket_.write_some(parts, fault));
    if (fault == asio::error::would_block || fault == asio::error::try_again) return;
    if (fault) broken_ = true;
  }
}

asio::awaitable<void> connection::write_rest(buffers& parts) {
  while (!broken_ && !is_written(parts)) {
    enter(phase::sending, server_->limits.body_timeout);
    error_code fault;
    co_await socket_.async_wait(socket_type::wait_write,
                                asio::redirect_error(asio::use_awaitable, fault));
    if (fault) broken_ = true;
    write_now(parts);
  }
  work();
}

asker connection::asked_by() const noexcept {
  asker by;
  by.http_1_1 = reader_.http_1_1();
  by.is_head = reader_.is_head();
  by.keep_alive = may_go_on();
  by.takes_trailers = reader_.frame().takes_trailers;
  return by;
}

asio::awaitable<result<void>> connection::send_interim(const response& interim) {
  const bool is_interim = interim.status() > 101 && interim.status() < 200;
  if (!is_interim || !reader_.http_1_1()) co_return result<void>{};
  text_.clear();
  append_interim(text_, interim);
  buffers parts{buffer_of(text_)};
  write_now(parts);
  co_await write_rest(parts);
  if (broken_) co_return errc::in_doubt;
  co_return result<void>{};
}

asio::awaitable<result<void>> connection::send(answer final) {
  answered_ = true;
  const asker by = asked_by();
  const answer_frame frame = frame_answer(final, by);
  keep_alive_ = frame.keep_alive && final.head.status() != 101;
  text_.clear();
  append_head(text_, final.head, frame, by, server_->date_line);
  const bool in_pieces = final.rest != nullptr || frame.kind == answer_frame::body::chunked;
  if (in_pieces && frame.kind != answer_frame::body::none) {
    co_return co_await send_streamed(final, frame);
  }
  buffers parts{buffer_of(text_)};
  if (frame.kind != answer_frame::body::none) parts[1] = buffer_of(final.head.body_text());
  write_now(parts);
  if (!broken_ && !is_written(parts)) co_await write_rest(parts);
  if (broken_) co_return errc::in_doubt;
  co_return result<void>{};
}

asio::awaitable<bool> connection::send_piece(std::string_view piece, const answer_frame& frame) {
  char size[20];
  buffers parts{buffer_of(text_), {}, buffer_of(piece), {}};
  if (frame.kind == answer_frame::body::chunked && !piece.empty()) {
    parts[1] = buffer_of(chunk_header(piece.size(), size));
    parts[3] = buffer_of("\r\n");
  }
  write_now(parts);
  if (!broken_ && !is_written(parts)) co_await write_rest(parts);
  text_.clear();
  co_return !broken_;
}

// Post: whether all of it was sent.
asio::awaitable<bool> connection::send_pieces(answer& said, const answer_frame& frame) {
  const bool counted = frame.kind == answer_frame::body::length;
  std::uint64_t left = frame.length;
  std::string_view piece = said.head.body_text();
  for (bool first = true; first || !piece.empty(); first = false) {
    if (counted) {
      // More than was announced would be read as the next answer.
      if (piece.size() > left) co_return false;
      left -= piece.size();
    }
    const bool sent = co_await send_piece(piece, frame);
    if (!sent) co_return false;
    if (said.rest == nullptr) break;
    const result<std::span<const std::byte>> more = co_await said.rest->next();
    if (!more) co_return false;
    piece = {reinterpret_cast<const char*>(more->data()), more->size()};
  }
  if (frame.kind != answer_frame::body::chunked) co_return !counted || left == 0;
  const bool asked = reader_.frame().takes_trailers;
  header_list trailers;
  if (asked) trailers = said.rest != nullptr ? said.rest->trailers() : said.head.trailers();
  append_last_chunk(text_, trailers);
  co_return co_await send_piece({}, frame);
}

asio::awaitable<result<void>> connection::send_streamed(answer& said, const answer_frame& frame) {
  const bool whole = co_await send_pieces(said, frame);
  if (whole) co_return result<void>{};
  // An end without a length looks whole; only a reset says that it is not.
  if (frame.kind == answer_frame::body::until_close) {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }
  cut();
  co_return errc::in_doubt;
}

}  // namespace callonce::beast::detail
