#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include <callonce/engine/store.hpp>

namespace callonce::gateway {

/// A store whose every operation is counted and timed on its way through.
/// Pre: `over` and `in` outlive it. Threads: as the store below.
class observed_store final : public store {
 public:
  /// Told the name of an operation and how long it took.
  using listener = std::function<void(std::string_view, std::chrono::steady_clock::duration)>;

  observed_store(store& over, environment& in, listener tell)
      : store_(over), env_(in), tell_(std::move(tell)) {}

  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override;
  asio::awaitable<result<write_reply>> renew(const fence& by) override;
  asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) override;
  asio::awaitable<result<write_reply>> release(const fence& by,
                                               std::chrono::milliseconds retention) override;
  asio::awaitable<result<write_reply>> park(const fence& by) override;
  asio::awaitable<result<write_reply>> settle(const settlement& decision,
                                              const settle_reason& reason) override;
  asio::awaitable<result<record_page>> find(const record_filter& which) override;
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override;
  store_traits traits() const override { return store_.traits(); }

  /// The names of all operations, for series that exist from the start.
  static constexpr std::string_view operations[] = {"claim", "renew",  "complete", "release",
                                                    "park",  "settle", "find",     "purge"};

 private:
  template <class Reply>
  asio::awaitable<Reply> timed(std::string_view name, asio::awaitable<Reply> operation);

  store& store_;
  environment& env_;
  listener tell_;
};

}  // namespace callonce::gateway
