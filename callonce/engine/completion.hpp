#pragma once

#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::detail {

/// The resuming half of a suspended coroutine. Destroyed unused, it destroys the coroutine.
/// Threads: moved freely; called on `executor()` only.
template <class Value>
class completion {
 public:
  completion() = default;

  template <class Handler>
  explicit completion(Handler handler)
      : target_(std::make_unique<holder<Handler>>(std::move(handler))) {}

  explicit operator bool() const noexcept { return target_ != nullptr; }
  asio::any_io_executor executor() const { return target_->executor(); }

  /// Resumes the coroutine with `value`, at once and on this thread.
  void operator()(Value value) {
    const std::unique_ptr<target> once = std::move(target_);
    once->call(std::move(value));
  }

 private:
  struct target {
    target() = default;
    target(const target&) = delete;
    target& operator=(const target&) = delete;
    virtual ~target() = default;
    virtual asio::any_io_executor executor() const = 0;
    virtual void call(Value value) = 0;
  };

  template <class Handler>
  struct holder final : target {
    explicit holder(Handler&& from) : handler(std::move(from)) {}
    asio::any_io_executor executor() const override {
      return asio::get_associated_executor(handler);
    }
    void call(Value value) override {
      Handler local = std::move(handler);
      std::move(local)(std::move(value));
    }
    Handler handler;
  };

  std::unique_ptr<target> target_;
};

/// Suspends the calling coroutine and hands its resuming half to `start(completion)`.
/// Post: yields what the completion was called with.
template <class Value, class Start>
asio::awaitable<Value> suspend(Start& start) {
  const auto initiate = [&start](auto handler) { start(completion<Value>{std::move(handler)}); };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Value)>(
      initiate, asio::use_awaitable);
}

}  // namespace callonce::detail
