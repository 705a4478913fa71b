#pragma once

#include <unordered_map>

#include <callonce/testkit/store_decorator.hpp>

namespace callonce::testkit {

/// A store in which open transactions of applications hold rows: such rows can be read, and no lane
/// waits for them.
class holding_store final : public store_decorator {
 public:
  /// With `co_commit` the applications may complete records in such a transaction.
  holding_store(store& inner, bool co_commit) : store_decorator(inner), co_commit_(co_commit) {}

  void hold(const identity& row) { ++held_[row]; }
  void free(const identity& row);

  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override;
  asio::awaitable<result<write_reply>> renew(const fence& by) override;
  asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) override;
  asio::awaitable<result<write_reply>> release(const fence& by,
                                               std::chrono::milliseconds retention) override;
  asio::awaitable<result<write_reply>> park(const fence& by) override;
  asio::awaitable<result<write_reply>> settle(const settlement& decision,
                                              const settle_reason& reason) override;
  store_traits traits() const override;

 private:
  bool is_held(const identity& row) const { return held_.contains(row); }
  asio::awaitable<result<record_page>> look(const identity& row);
  template <class Rule>
  asio::awaitable<std::optional<write_reply>> meets_holder(const identity& row, Rule rule);

  const bool co_commit_;
  std::unordered_map<identity, int, identity_hash> held_;
};

}  // namespace callonce::testkit
