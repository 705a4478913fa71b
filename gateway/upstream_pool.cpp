#include <algorithm>
#include <deque>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gateway/outgoing_body.hpp>
#include <gateway/permits.hpp>
#include <gateway/upstream_connection.hpp>
#include <gateway/upstream_pool.hpp>

namespace callonce::gateway {

class upstream_pool::state {
 public:
  state(asio::any_io_executor executor, endpoint application, upstream_limits limits,
        environment& in)
      : executor_(std::move(executor)),
        application_(std::move(application)),
        limits_(limits),
        environment_(in),
        slots_(limits.connections) {}

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const endpoint& application() const noexcept { return application_; }
  const upstream_limits& limits() const noexcept { return limits_; }
  environment& in() const noexcept { return environment_; }
  permits& slots() noexcept { return slots_; }
  std::size_t idle() const noexcept { return idle_.size(); }

  // The connection that was used last, so that the others may go.
  std::unique_ptr<upstream_connection> take_idle() {
    while (!idle_.empty()) {
      std::unique_ptr<upstream_connection> line = std::move(idle_.back());
      idle_.pop_back();
      const bool fresh = environment_.now() - line->idle_since < limits_.idle_max;
      if (fresh && line->is_quiet()) return line;
    }
    return nullptr;
  }

  void keep(std::unique_ptr<upstream_connection> line) {
    if (closed_) return;
    line->idle_since = environment_.now();
    idle_.push_back(std::move(line));
    if (!sweep_) sweep_when_due();
  }

  void close() {
    closed_ = true;
    sweep_.reset();
    idle_.clear();
  }

 private:
  void sweep_when_due() {
    sweep_ = environment_.call_at(executor_, idle_.front()->idle_since + limits_.idle_max,
                                  [this] { sweep(); });
  }
  void sweep() {
    const steady_time now = environment_.now();
    while (!idle_.empty() && now - idle_.front()->idle_since >= limits_.idle_max) {
      idle_.pop_front();
    }
    sweep_.reset();
    if (!idle_.empty()) sweep_when_due();
  }

  const asio::any_io_executor executor_;
  const endpoint application_;
  const upstream_limits limits_;
  environment& environment_;
  permits slots_;
  std::deque<std::unique_ptr<upstream_connection>> idle_;  // the longest idle one first
  std::unique_ptr<alarm> sweep_;
  bool closed_ = false;
};

namespace {

using pool_state = upstream_pool::state;
using boost::system::error_code;

// A whole answer up to this length is awaited and handed out in one piece: a cut in it is then
// known before its status is believed, and short answers need no source.
constexpr std::uint64_t awaited_body_max = std::uint64_t{16} << 10;

// A connection in use, with its permit. Unless it is given back it closes.
class borrowed {
 public:
  // Pre: a permit was taken.
  explicit borrowed(std::shared_ptr<pool_state> from) : from_(std::move(from)) {}
  borrowed(borrowed&&) noexcept = default;
  borrowed& operator=(borrowed&&) = delete;
  ~borrowed() {
    line_.reset();
    if (from_) from_->slots().give_back();
  }

  explicit operator bool() const noexcept { return line_ != nullptr; }
  upstream_connection* operator->() const noexcept { return line_.get(); }

  // A kept connection if there is a good one, else a new one that is not connected yet.
  bool take_idle() {
    line_ = from_->take_idle();
    return line_ != nullptr;
  }
  void take_new() {
    line_ =
        std::make_unique<upstream_connection>(from_->executor(), from_->limits().header_bytes_max);
  }
  void give_back() {
    line_->ignore_cancel();
    const bool open = line_->socket().is_open();
    if (open && line_->reader().keeps_alive() && !line_->has_unread()) {
      from_->keep(std::move(line_));
    }
    line_.reset();
    const std::shared_ptr<pool_state> from = std::move(from_);
    from->slots().give_back();
  }

 private:
  std::shared_ptr<pool_state> from_;
  std::unique_ptr<upstream_connection> line_;
};

// What is left of an answer's body on its connection.
class rest_of_answer final : public body_source {
 public:
  rest_of_answer(borrowed line, bool reusable) : line_(std::move(line)), reusable_(reusable) {}

  asio::awaitable<result<std::span<const std::byte>>> next() override {
    piece_.clear();
    if (!line_) co_return std::span<const std::byte>{};
    response_reader& reader = line_->reader();
    while (reader.at() == response_reader::stage::body && reader.body().empty()) {
      co_await line_->read();
    }
    if (reader.at() == response_reader::stage::broken && reader.body().empty()) {
      co_return make_error_code(errc::in_doubt);
    }
    piece_.swap(reader.body());
    if (reader.at() == response_reader::stage::complete) {
      trailers_ = reader.trailers();
      end();
    }
    co_return std::as_bytes(std::span{piece_.data(), piece_.size()});
  }
  header_list trailers() override { return trailers_; }

 private:
  void end() {
    if (!reusable_) line_->close();
    line_.give_back();
  }

  borrowed line_;
  bool reusable_;
  header_list trailers_;
  std::string piece_;
};

// A connection after 101.
class upstream_tunnel final : public byte_stream {
 public:
  explicit upstream_tunnel(borrowed line) : line_(std::move(line)) { line_->ignore_cancel(); }

  asio::awaitable<result<std::size_t>> read_some(std::span<std::byte> into) override {
    if (const std::string_view early = line_->unread(); !early.empty()) {
      const std::size_t bytes = std::min(early.size(), into.size());
      std::copy_n(reinterpret_cast<const std::byte*>(early.data()), bytes, into.begin());
      line_->drop_unread(bytes);
      co_return bytes;
    }
    error_code fault;
    const asio::mutable_buffer room{into.data(), into.size()};
    const std::size_t bytes = co_await line_->socket().async_read_some(
        room, asio::redirect_error(asio::use_awaitable, fault));
    if (fault && fault != asio::error::eof) co_return make_error_code(errc::in_doubt);
    co_return bytes;
  }

  asio::awaitable<result<void>> write(std::span<const std::byte> bytes) override {
    error_code fault;
    const asio::const_buffer all{bytes.data(), bytes.size()};
    co_await asio::async_write(line_->socket(), all,
                               asio::redirect_error(asio::use_awaitable, fault));
    if (fault) co_return make_error_code(errc::in_doubt);
    co_return result<void>{};
  }

  void finish_writing() override {
    error_code ignored;
    line_->socket().shutdown(asio::socket_base::shutdown_send, ignored);
  }
  void close() override { line_->close(); }

 private:
  borrowed line_;
};

void write_head(std::string& into, const request& asked, const std::string& framing,
                const endpoint& to) {
  into.clear();
  into.append(asked.method()).append(1, ' ').append(asked.target()).append(" HTTP/1.1\r\n");
  bool host = false;
  for (const field& line : asked.headers()) {
    if (same_name(line.name, "Content-Length") || same_name(line.name, "Transfer-Encoding") ||
        same_name(line.name, "Connection")) {
      continue;
    }
    if (same_name(line.name, "Upgrade")) into.append("Connection: Upgrade\r\n");
    if (same_name(line.name, "TE")) into.append("Connection: TE\r\n");
    host = host || same_name(line.name, "Host");
    into.append(line.name).append(": ").append(line.value).append("\r\n");
  }
  if (!host) into.append("Host: ").append(to.is_unix() ? "localhost" : to_text(to)).append("\r\n");
  into.append(framing).append("\r\n");
}

// One request on its way over a connection.
class dispatch {
 public:
  dispatch(const request& asked, body_source* streamed, const upstream::interim& on_interim)
      : asked_(asked),
        content_(asked, streamed),
        on_interim_(on_interim),
        to_head_(asked.method() == "HEAD") {}

  outgoing_body& content() noexcept { return content_; }
  bool is_all_sent() const noexcept { return !failed_ && bytes_.empty() && content_.is_whole(); }

  // Writes what goes at once. Post: false when that was not a single byte.
  bool begin(borrowed& line, const endpoint& to) {
    line->start_next_answer(to_head_);
    write_head(line->head, asked_, content_.framing(), to);
    bytes_ = gathered_bytes{};
    bytes_.add(line->head);
    content_.add_to(bytes_);
    const std::size_t before = bytes_.size();
    failed_ = !line->write_some(bytes_);
    return !failed_ || bytes_.size() != before;
  }

  // Sends the rest until the application answers, fails or has everything.
  // Post: false when the source of the body was cut off.
  asio::awaitable<bool> send_rest(borrowed& line) {
    while (!is_all_sent() && !failed_) {
      if (!bytes_.empty()) co_await line->ready();
      line->read_at_once();
      co_await pass_interims(line);
      if (line->reader().is_decided()) break;
      if (bytes_.empty()) {
        const bool fetched = co_await content_.fetch();
        if (!fetched) co_return false;
        content_.add_to(bytes_);
      }
      failed_ = !line->write_some(bytes_);
    }
    co_return true;
  }

  // Goes on to what comes behind the interim answers.
  asio::awaitable<void> pass_interims(borrowed& line) {
    while (line->reader().is_interim()) {
      const response interim = line->reader().take();
      line->start_next_answer(to_head_);
      if (interim.status() != 100 && on_interim_) co_await on_interim_(interim);
    }
  }

 private:
  const request& asked_;
  outgoing_body content_;
  const upstream::interim& on_interim_;
  const bool to_head_;
  gathered_bytes bytes_;
  bool failed_ = false;
};

// Whether to read on before anything is handed out.
bool wants_more(const response_reader& reader) {
  if (!reader.is_decided()) return true;
  if (reader.at() != response_reader::stage::body) return false;
  const auto left = reader.body_left();
  return left && *left <= awaited_body_max;
}

// What the connection's reader has decided.
std::variant<upstream_answer, upstream_fault> take_answer(borrowed line, bool upgrade_asked,
                                                          bool whole_request_sent) {
  response_reader& reader = line->reader();
  if (reader.at() == response_reader::stage::broken) return upstream_fault::broken;
  upstream_answer made;
  made.content.head = reader.take();
  if (made.content.head.status() == 101) {
    if (!upgrade_asked) return upstream_fault::broken;
    made.tunnel = std::make_unique<upstream_tunnel>(std::move(line));
  } else if (reader.at() == response_reader::stage::body) {
    made.content.rest = std::make_unique<rest_of_answer>(std::move(line), whole_request_sent);
  } else if (whole_request_sent) {
    line.give_back();
  }
  return made;
}

}  // namespace

upstream_pool::upstream_pool(asio::any_io_executor executor, endpoint application,
                             upstream_limits limits, environment& in)
    : state_(std::make_shared<state>(std::move(executor), std::move(application), limits, in)) {}

upstream_pool::~upstream_pool() {
  state_->close();
}

std::size_t upstream_pool::idle() const noexcept {
  return state_->idle();
}
std::size_t upstream_pool::waiting() const noexcept {
  return state_->slots().waiting();
}

asio::awaitable<std::variant<upstream_answer, upstream_fault>> upstream_pool::send(
    const request& asked, body_source* streamed, const interim& on_interim,
    std::stop_token cancel) {
  const std::shared_ptr<state> in = state_;
  dispatch sending{asked, streamed, on_interim};
  if (!sending.content().is_whole()) {
    const bool fetched = co_await sending.content().fetch();
    if (!fetched) co_return upstream_fault::unreachable;
  }
  if (!in->slots().try_take()) {
    const steady_time deadline = in->in().now() + in->limits().connect_timeout;
    const bool taken = co_await in->slots().take(in->in(), deadline, cancel);
    if (!taken) co_return upstream_fault::unreachable;
  }
  borrowed line{in};
  for (bool begun = false; !begun;) {
    if (cancel.stop_requested()) co_return upstream_fault::unreachable;
    const bool kept = line.take_idle();
    if (!kept) line.take_new();
    line->close_on(cancel);
    if (!kept) {
      const auto patience = in->limits().connect_timeout;
      const bool reached = co_await line->connect(in->application(), in->in(), patience);
      if (!reached) co_return upstream_fault::unreachable;
    }
    begun = sending.begin(line, in->application());
    if (!begun && !kept) co_return upstream_fault::unreachable;
  }
  if (!sending.is_all_sent()) {
    const bool whole = co_await sending.send_rest(line);
    if (!whole) co_return upstream_fault::broken;
  }
  while (wants_more(line->reader())) {
    if (line->reader().is_interim()) {
      co_await sending.pass_interims(line);
    } else {
      co_await line->read();
    }
  }
  const bool upgrade_asked = asked.headers().find("Upgrade") != nullptr;
  co_return take_answer(std::move(line), upgrade_asked, sending.is_all_sent());
}

}  // namespace callonce::gateway
