#pragma once

#include <string>
#include <vector>

#include <callonce/core/error.hpp>
#include <callonce/core/transition.hpp>
#include <callonce/engine/claim.hpp>

struct pg_conn;

namespace callonce::postgres {

// Effect and completion in one transaction of the caller's own, on the caller's own connection: both
// are committed or neither. `hold` first, the effect, `complete` last, COMMIT. Nothing in here may be
// repeated in a second transaction: it would carry a second effect. Source: design of co-commit,
// CO-1, I7.

/// A parameter of a statement: text, or the bytes of a bytea.
struct parameter {
  std::string value;
  bool is_bytes = false;
};

/// A statement for any client of PostgreSQL: SQL with $1, $2, … and their values.
struct statement {
  std::string sql;
  std::vector<parameter> parameters;
};

/// Locks the record, so that a live owner is not taken over; COMMIT fails unless `complete`
/// succeeded. It fails with SQLSTATE ID001 when the claim is lost, ID002 when this very claim is
/// completed already.
statement hold_statement(const claim& won);
/// Completes the record with `answer`. It fails as `hold_statement` does, and with ID003 where no
/// transaction with a write is open.
statement complete_statement(const claim& won, const response& answer);
/// Claim and completion at once, for an effect that is short and local: the first statement after
/// BEGIN. Where the key is taken it fails the transaction (ID001; 55P03 while the other one is not
/// committed yet), so that an effect sent right behind it in a pipeline never runs; then ask the
/// route the ordinary way.
statement once_statement(const claim_request& wish, const stored_answer& answer);

/// What the SQLSTATE of a failed statement means; 40001 of a stricter isolation level is a lost
/// claim too.
errc fault_of(std::string_view sqlstate) noexcept;

/// Runs `hold_statement`. Pre: a transaction is open on `in`, which is not in pipeline mode.
/// Errors: claim_lost, already_completed: roll back; in_doubt: the connection is gone; unavailable
/// for anything else.
[[nodiscard]] result<void> hold(pg_conn* in, const claim& won);
/// Runs `complete_statement`. Pre: as `hold`. Errors: as `hold`, and no_transaction.
[[nodiscard]] result<void> complete(pg_conn* in, const claim& won, const response& answer);

}  // namespace callonce::postgres
