#pragma once

// Internal: what is asked of a server beside the lanes: pages of records, purging, the meta table.

#include <functional>
#include <memory>
#include <optional>

#include <callonce/engine/store.hpp>
#include <callonce/stores/group_commit/clerk.hpp>
#include <callonce/stores/postgres/place.hpp>
#include <callonce/stores/postgres/row_statements.hpp>

namespace callonce::postgres::detail {

/// A thread with its own connection.
/// Threads: called from any executor; each operation ends on its caller's.
class desk {
 public:
  /// Errors: throws misconfigured.
  desk(place& where, const options& with);

  asio::awaitable<result<record_page>> find(const record_filter& which);
  asio::awaitable<result<purge_reply>> purge(std::size_t limit);

 private:
  std::optional<round_trip> ask(std::span<const message> statements);
  result<record_page> read_page(const record_filter& which);
  result<purge_reply> purge_some(std::size_t limit);
  // Of the form `rows`.
  bool add_answers(std::vector<row>& to, const std::function<bool(const record&)>& wanted);
  result<purge_reply> purge_rows(std::size_t limit);
  bool purge_row(const row& seen, purge_reply& into);

  place& where_;
  const std::chrono::milliseconds patience_;
  const statement_form form_;
  const clock_expressions clocks_;
  std::unique_ptr<session> session_;
  std::size_t turn_ = 0;
  std::int64_t purged_to_ = 0;
  group_commit::clerk clerk_;  // Last: its thread uses the rest.
};

}  // namespace callonce::postgres::detail
