#pragma once

#include <memory>
#include <utility>

#include <callonce/engine/store.hpp>

namespace callonce::testkit {

/// A store that passes everything on; decorators override what they change.
/// Pre: `inner` outlives it.
class store_decorator : public store {
 public:
  explicit store_decorator(store& inner) : inner_(inner) {}

  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    return inner_.claim(wish);
  }
  asio::awaitable<result<write_reply>> renew(const fence& by) override { return inner_.renew(by); }
  asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) override {
    return inner_.complete(by, std::move(answer));
  }
  asio::awaitable<result<write_reply>> release(const fence& by,
                                               std::chrono::milliseconds retention) override {
    return inner_.release(by, retention);
  }
  asio::awaitable<result<write_reply>> park(const fence& by) override { return inner_.park(by); }
  asio::awaitable<result<write_reply>> settle(const settlement& decision,
                                              const settle_reason& reason) override {
    return inner_.settle(decision, reason);
  }
  asio::awaitable<result<record_page>> find(const record_filter& which) override {
    return inner_.find(which);
  }
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override {
    return inner_.purge(limit);
  }
  store_traits traits() const override { return inner_.traits(); }

 protected:
  store& inner() noexcept { return inner_; }
  const store& inner() const noexcept { return inner_; }

 private:
  store& inner_;
};

}  // namespace callonce::testkit
