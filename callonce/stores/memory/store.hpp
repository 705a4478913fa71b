#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include <callonce/engine/store.hpp>

namespace callonce::memory {

/// The reference: a map under a mutex that applies core/transition as it stands. Records live as
/// long as the object. Every operation ends without suspending, on the caller's own thread.
/// Threads: any.
class store : public callonce::store {
 public:
  using clock = std::function<moment()>;

  explicit store(environment& in = system_environment());
  /// Leases and retention are judged by `now`, so that a test moves them as it likes.
  store(environment& in, clock now);

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
  /// Looks at `limit` records a call, going round.
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override;
  store_traits traits() const override;

  /// How many records there are.
  std::size_t size() const;

 private:
  // Records in the order in which their keys were first seen: the order of pages and purging.
  using shelf = std::map<std::uint64_t, record>;

  const record* look_up(const identity& id) const;
  void write(record next);
  claim_reply apply_claim(const claim_request& wish);
  template <class Rule>
  write_reply apply_write(const identity& id, Rule rule);
  record_page read_page(const record_filter& which) const;
  purge_reply purge_some(std::size_t limit);

  environment& environment_;
  clock now_;
  mutable std::mutex mutex_;
  shelf records_;
  std::unordered_map<identity, std::uint64_t, identity_hash> places_;
  std::uint64_t last_place_ = 0;
  std::uint64_t purged_to_ = 0;
};

}  // namespace callonce::memory
