#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callonce/engine/store.hpp>
#include <callonce/stores/sqlite/clocks.hpp>
#include <callonce/stores/sqlite/misconfigured.hpp>

namespace callonce::sqlite {

/// How a file is used.
struct options {
  /// How long a caller waits for its answer.
  std::chrono::milliseconds timeout{5000};
  /// The clocks that judge; absent: `host_clocks`.
  std::optional<sqlite::clocks> clocks;
  /// Told how many operations each commit made durable together.
  /// Threads: called on the store's own.
  std::function<void(std::size_t)> on_batch;
};

/// Records in an SQLite file on a local disk, made durable by group commit; several processes may
/// share it. Two lock files lie beside it.
/// Threads: any.
class store final : public callonce::store {
 public:
  /// Opens the file, making it and its tables if need be.
  /// Errors: throws misconfigured: a file that cannot be written, a network file system, tables of
  /// a newer version.
  explicit store(const std::filesystem::path& file, const options& with = {},
                 environment& in = system_environment());
  /// Sends what still waits; the last process leaves no log behind. Pre: the executors of all
  /// callers live.
  ~store() override;

  /// Says by which rules scopes and keys are made: processes that disagree would not find each
  /// other's records, and run operations again. The first call writes them down.
  /// Errors: throws misconfigured when the file was used with others, unless `accept_new`.
  void bind_identity_rules(std::string_view rules, bool accept_new = false);
  /// The rules written down, if any.
  std::optional<std::string> identity_rules();

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
  /// Looks at `limit` records a call, going round; writes in short turns.
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override;
  store_traits traits() const override;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace callonce::sqlite
