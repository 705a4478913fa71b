#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gateway/upstream_pool.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

using sent = std::variant<upstream_answer, upstream_fault>;

/// The real environment, with a clock that a test can put forward.
class adjustable_clock final : public environment {
 public:
  void advance(std::chrono::milliseconds by) { ahead_ += by; }
  steady_time now() const override { return system_environment().now() + ahead_; }
  std::chrono::system_clock::time_point wall() const override {
    return system_environment().wall();
  }
  void fill_random(std::span<std::byte> bytes) override { system_environment().fill_random(bytes); }
  std::unique_ptr<alarm> call_at(const asio::any_io_executor& executor, steady_time at,
                                 std::function<void()> action) override {
    return system_environment().call_at(executor, at - ahead_, std::move(action));
  }

 private:
  std::chrono::milliseconds ahead_{0};
};

/// A pool on an io_context that the test's own thread runs.
class pool_world {
 public:
  explicit pool_world(endpoint application, upstream_limits limits = {})
      : pool_(std::make_unique<upstream_pool>(io.get_executor(), std::move(application), limits,
                                              clock)) {}

  upstream_pool& pool() { return *pool_; }
  void drop_pool() { pool_.reset(); }

  /// Runs the world until `done` holds; throws after 10 s.
  void run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline)
        throw std::runtime_error("it never happened");
      io.restart();
      io.run_one_for(std::chrono::milliseconds{50});
    }
  }

  /// Begins a send; its end appears in `into`.
  void begin(request asked, std::optional<sent>& into, body_source* streamed = nullptr,
             std::stop_token cancel = {}) {
    asio::co_spawn(io, send(std::move(asked), into, streamed, std::move(cancel)), asio::detached);
  }
  sent outcome_of(request asked, body_source* streamed = nullptr, std::stop_token cancel = {}) {
    std::optional<sent> into;
    begin(std::move(asked), into, streamed, std::move(cancel));
    run_until([&] { return into.has_value(); });
    return std::move(*into);
  }
  upstream_answer whole_answer_to(request asked, body_source* streamed = nullptr) {
    return std::get<upstream_answer>(outcome_of(std::move(asked), streamed));
  }
  response answer_to(request asked, body_source* streamed = nullptr) {
    return whole_answer_to(std::move(asked), streamed).content.head;
  }
  upstream_fault fault_of(request asked, body_source* streamed = nullptr) {
    return std::get<upstream_fault>(outcome_of(std::move(asked), streamed));
  }

  /// What `source` gives until its end; ends with "<cut>" where it was cut off.
  std::string all_of(body_source& source) {
    std::optional<std::string> into;
    asio::co_spawn(io, read_all(source, into), asio::detached);
    run_until([&] { return into.has_value(); });
    return *into;
  }
  template <class Value>
  Value result_of(asio::awaitable<Value> work) {
    std::optional<Value> into;
    asio::co_spawn(io, keep(std::move(work), into), asio::detached);
    run_until([&] { return into.has_value(); });
    return std::move(*into);
  }

  asio::io_context io;
  adjustable_clock clock;
  std::vector<int> interims;

 private:
  asio::awaitable<void> send(request asked, std::optional<sent>& into, body_source* streamed,
                             std::stop_token cancel) {
    const upstream::interim on_interim = [this](const response& said) -> asio::awaitable<void> {
      interims.push_back(said.status());
      co_return;
    };
    into = co_await pool_->send(asked, streamed, on_interim, cancel);
  }
  static asio::awaitable<void> read_all(body_source& source, std::optional<std::string>& into) {
    std::string all;
    for (;;) {
      const auto piece = co_await source.next();
      if (!piece) all += "<cut>";
      if (!piece || piece->empty()) break;
      all.append(reinterpret_cast<const char*>(piece->data()), piece->size());
    }
    into = std::move(all);
  }
  template <class Value>
  static asio::awaitable<void> keep(asio::awaitable<Value> work, std::optional<Value>& into) {
    into = co_await std::move(work);
  }

  std::unique_ptr<upstream_pool> pool_;
};

/// Listens, but its queue is full: whoever connects gets no answer.
class full_listener {
 public:
  full_listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 0) != 0 ||
        ::getsockname(listener_, plain, &size) != 0) {
      throw std::runtime_error("no listener");
    }
    where_.host = "127.0.0.1";
    where_.port = ntohs(address.sin_port);
    for (int each = 0; each < 4; ++each) {
      const int queued = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      static_cast<void>(::connect(queued, plain, size));
      queued_.push_back(queued);
    }
  }
  full_listener(const full_listener&) = delete;
  full_listener& operator=(const full_listener&) = delete;
  ~full_listener() {
    for (const int each : queued_) ::close(each);
    ::close(listener_);
  }
  endpoint where() const { return where_; }

 private:
  int listener_ = -1;
  std::vector<int> queued_;
  endpoint where_;
};

/// A path in a new directory that goes with it.
class temporary_path {
 public:
  temporary_path() {
    if (::mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no directory");
  }
  temporary_path(const temporary_path&) = delete;
  temporary_path& operator=(const temporary_path&) = delete;
  ~temporary_path() {
    ::unlink(text().c_str());
    ::rmdir(directory_.c_str());
  }
  std::string text() const { return directory_ + "/socket"; }

 private:
  std::string directory_ = "/tmp/callonce-test-XXXXXX";
};

}  // namespace callonce::gateway
