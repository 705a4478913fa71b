#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callonce/engine/store.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>

namespace callonce::postgres {

/// Which statements carry an operation to the server.
enum class statement_form : std::uint8_t {
  /// Functions of the schema take many operations at once, in one transaction and one round trip:
  /// for PostgreSQL.
  batches,
  /// Plain SQL over one row at a time, each operation in a transaction of its own: for servers that
  /// speak PostgreSQL's language and spread their rows over nodes. No function of the schema, no
  /// advisory lock and nothing prepared is used, and nothing is joined.
  rows,
};

/// The server's clocks as expressions of its SQL, in milliseconds since 1970-01-01 00:00 UTC.
struct clock_expressions {
  std::string lease = "(date_part('epoch', clock_timestamp()) * 1000)::bigint";
  std::string wall = lease;
};

/// How a server is used.
struct options {
  /// How long a caller waits for its answer, and a round trip for its own, but at least 2 s.
  std::chrono::milliseconds timeout{5000};
  /// Connections that carry claims and completions; a key always goes to the same one. 0: under
  /// `batches` one for every two cores of this host, since few full batches cost the server least;
  /// under `rows`, where each carries one operation at a time, eight.
  std::size_t lanes = 0;
  statement_form statements = statement_form::batches;
  /// What judges under `rows`; `batches` has its clocks in the schema.
  clock_expressions clocks;
  /// Told how many operations each commit made durable together.
  /// Threads: called on the store's own.
  std::function<void(std::size_t)> on_batch;
};

/// Records in the schema `callonce` of a PostgreSQL database, made durable by group commit; any
/// number of processes may share it, and applications complete records in their own transactions
/// there.
/// Threads: any.
class store final : public callonce::store {
 public:
  /// Connects to `url`: a connection string of libpq, which may name several hosts.
  /// Pre: `migrate` has made the tables.
  /// Errors: throws misconfigured: no server to be reached within the timeout, only hot standbys,
  /// settings that lose commits, tables of another version.
  explicit store(const std::string& url, const options& with = {},
                 environment& in = system_environment());
  /// Sends what still waits. Pre: the executors of all callers live.
  ~store() override;

  /// Says by which rules scopes and keys are made: processes that disagree would not find each
  /// other's records, and run operations again. The first call writes them down.
  /// Errors: throws misconfigured when the database was used with others, unless `accept_new`.
  void bind_identity_rules(std::string_view rules, bool accept_new = false);
  /// The rules written down, if any.
  /// Errors: throws misconfigured.
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
  /// Looks at `limit` records a call, going round, in one short transaction.
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override;
  store_traits traits() const override;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace callonce::postgres
