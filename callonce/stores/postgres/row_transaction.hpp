#pragma once

// Internal: one short transaction over one row, step by step.

#include <functional>
#include <optional>
#include <vector>

#include <callonce/stores/postgres/row_statements.hpp>

namespace callonce::postgres::detail {

/// How a step ended.
enum class step {
  done,
  moved,  ///< The row is another by now. Nothing was written and the transaction is over.
  failed  ///< `said` tells why. The transaction is still to be rolled back.
};

/// Each step is one round trip, all its statements pipelined. What decides is the unique index and
/// the guard in an UPDATE; the lock on the row only keeps it from waiting for whoever has the row.
class row_transaction {
 public:
  using sender = std::function<round_trip(std::span<const message>)>;

  row_transaction(sender send, const clock_expressions& by, const identity& of);

  /// Begins, and reads clocks and row; with an attempt it locks the row as `lock` does.
  step look(std::optional<std::uint32_t> attempt);
  /// Reads the row again and locks it, where it stands at that attempt and nobody holds it.
  step lock(std::uint32_t attempt);

  /// The store's clocks when the transaction began.
  moment now() const noexcept { return now_; }
  /// Whether there is such a row, and how it stands; or corrupt.
  bool exists() const noexcept { return exists_; }
  const result<row>& found() const noexcept { return found_; }
  /// Free: this transaction has locked it.
  row_hold hold() const noexcept { return hold_; }

  // What ends it. Post, unless failed: it is over; done: committed.
  step commit();
  /// Completes `found` by its answer. Pre: it is completed.
  step read_answer();
  step insert(const record& first);
  /// Writes over `found`, and `more` with it. Pre: `hold` is free.
  step overwrite(const record& next, std::vector<message> more = {});
  /// Removes `found` with its answer. Pre: `hold` is free.
  step remove();
  step drop_body();

  const round_trip& said() const noexcept { return said_; }

 private:
  bool ask(std::vector<message> statements);
  bool ask_and_commit(std::vector<message> statements);
  step roll_back();
  void read_found(const table* locked, const table& seen);

  const sender send_;
  const clock_expressions& clocks_;
  const identity& of_;
  moment now_{};
  bool exists_ = false;
  result<row> found_ = errc::corrupt;
  row_hold hold_ = row_hold::held;
  round_trip said_;
};

}  // namespace callonce::postgres::detail
