#pragma once

// Internal: a lane's connection to a server that is asked row by row.

#include <callonce/stores/postgres/row_transaction.hpp>
#include <callonce/stores/postgres/wire.hpp>

namespace callonce::postgres::detail {

/// Applies an operation as a transaction of its own: reads its row, asks core/transition, and
/// writes what that says by a conditional statement.
class row_connection final : public group_commit::connection {
 public:
  /// `patience` bounds each round trip. Errors: throws misconfigured.
  row_connection(place& where, std::chrono::milliseconds patience, clock_expressions by)
      : wire_(where, patience), clocks_(std::move(by)) {}

  /// What a lane around it takes at once: one operation, so that a fault is its own.
  static group_commit::limits one_by_one();

  /// Pre: a batch of one.
  results apply(std::span<const group_commit::operation* const> batch) override;
  bool recover() override { return wire_.recover(); }

 private:
  step apply_once(const group_commit::operation& one, row_transaction& over);
  step claim_first(const group_commit::operation& one, row_transaction& over);
  step conclude(const group_commit::operation& one, row_transaction& over);

  wire wire_;
  const clock_expressions clocks_;
  steady_time sent_at_{};
  group_commit::outcome outcome_ = errc::unavailable;  // Of a step that is done.
};

}  // namespace callonce::postgres::detail
