#pragma once

#include <callonce/testkit/checker.hpp>
#include <callonce/testkit/store_decorator.hpp>

namespace callonce::testkit {

/// A store whose every answer the checker is told, at the instant at which it was decided.
class checker::witness final : public store_decorator {
 public:
  witness(store& inner, checker& tells, unsigned sender, bool with_effect)
      : store_decorator(inner), tells_(tells), sender_(sender), with_effect_(with_effect) {}

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

 private:
  void write(const char* what, const fence& by, const result<write_reply>& reply);

  checker& tells_;
  const unsigned sender_;
  const bool with_effect_;
};

/// Writes down what an engine reports.
class checker::listener final : public observer {
 public:
  listener(checker& tells, unsigned sender) : tells_(tells), sender_(sender) {}
  void on(const fact& what) override;

 private:
  checker& tells_;
  const unsigned sender_;
};

}  // namespace callonce::testkit
