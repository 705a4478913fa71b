#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <callonce/core/error.hpp>
#include <callonce/core/transition.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce {

/// What a claim met. A refusal carries the record as it stands.
struct claim_reply {
  claim_verdict verdict = claim_verdict::in_progress;
  claim_kind kind = claim_kind::first;
  record current;
  moment judged_at{};     ///< The store's clocks when it decided.
  steady_time sent_at{};  ///< This process's clock, read just before the statement was sent.
};

/// What a write under a fence met. A refusal carries the record as it stands, if there is one.
struct write_reply {
  write_verdict verdict = write_verdict::lease_lost;
  /// Done before this write: it was a repetition, or the application's transaction was quicker.
  bool already = false;
  std::optional<record> current;
  moment judged_at{};
  steady_time sent_at{};
};

/// Which records an operator asks for. All given conditions must hold.
struct record_filter {
  std::optional<identity> exact;
  std::string record_id;  ///< 16 hex digits, or empty.
  std::optional<record_state> state;
  std::string route;
  std::chrono::milliseconds older_than{0};  ///< Since the record was created.
  std::uint64_t after = 0;                  ///< Cursor: `record_page::next` of the page before.
  std::size_t limit = 50;
};

/// Some of the records that were asked for, in the order in which their keys were first claimed.
struct record_page {
  std::vector<record> records;
  std::uint64_t next = 0;  ///< 0: no more.
  moment read_at{};
};

/// What one round of purging did.
struct purge_reply {
  std::uint64_t bodies = 0;   ///< Answers whose body was dropped.
  std::uint64_t records = 0;  ///< Records removed.
  std::uint64_t parked = 0;   ///< Lapsed claims that became parked.
  bool more = false;          ///< The limit was reached: call again soon.
};

/// What a store is, for start-up lines and for what the engine may expect of it.
struct store_traits {
  std::string name;
  bool durable = false;    ///< Records outlive the process.
  bool shared = false;     ///< Several processes may use it at once.
  bool co_commit = false;  ///< An application may complete records in its own transaction.
};

/// Who settles a record and why; kept in the store's audit.
struct settle_reason {
  std::string who;
  std::string why;
};

/// Where records live. Small enough for a stranger to implement; `testkit/store_exam` says when it
/// is right. Every operation applies the matching rule of core/transition in one atomic conditional
/// write, judged by the store's clock; repeating it under its claim_id is harmless. A claim is
/// never a read first. Pre: arguments stay alive until the operation has ended. Errors: unavailable
/// (surely not applied), in_doubt, corrupt, misconfigured. Threads: called from any executor; each
/// operation ends on the executor of the coroutine that asked. Cancellation: none; an operation
/// ends within the store's own timeout.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  [[nodiscard]] virtual asio::awaitable<result<claim_reply>> claim(const claim_request& wish) = 0;
  [[nodiscard]] virtual asio::awaitable<result<write_reply>> renew(const fence& by) = 0;
  [[nodiscard]] virtual asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) = 0;
  [[nodiscard]] virtual asio::awaitable<result<write_reply>> release(
      const fence& by, std::chrono::milliseconds retention) = 0;
  [[nodiscard]] virtual asio::awaitable<result<write_reply>> park(const fence& by) = 0;
  [[nodiscard]] virtual asio::awaitable<result<write_reply>> settle(
      const settlement& decision, const settle_reason& reason) = 0;
  [[nodiscard]] virtual asio::awaitable<result<record_page>> find(const record_filter& which) = 0;
  /// Removes what is past its retention, at most `limit` records, without delaying claims for long.
  [[nodiscard]] virtual asio::awaitable<result<purge_reply>> purge(std::size_t limit) = 0;
  virtual store_traits traits() const = 0;
};

}  // namespace callonce
