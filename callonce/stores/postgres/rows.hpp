#pragma once

// Internal: what the functions of a batch bring back, as records.

#include <optional>

#include <callonce/core/transition.hpp>
#include <callonce/stores/postgres/session.hpp>

namespace callonce::postgres::detail {

/// The columns of callonce.record as a SELECT brings them, and of callonce.answer; callonce.whole
/// has both in this order.
extern const char* const record_columns;
extern const char* const answer_columns;
std::string whole_columns();

/// How a claim changed a row, as the functions say it.
enum class change : std::uint8_t {
  none = 0,
  after_release = 1,
  takeover = 2,
  after_expiry = 3,
  repeat = 4,
  parked = 5,
  blocked = 6,  ///< Somebody's uncommitted insert has the key.
};

/// One row of callonce.found.
struct found_row {
  int place = 0;  ///< Among the operations, from 1.
  change how = change::none;
  bool exists = false;
  result<record> current = errc::corrupt;  ///< Where it exists.
};

/// The clocks that judged: the first row. Pre: `from` is an answer without a fault.
moment clocks_of(const table& from);
/// Row `row` of callonce.found; `wanted` is what the operation was about.
found_row read_found(const table& from, int row, const identity& wanted);

/// A record without its answer, from `record_columns` that begin at `first`.
/// Errors: corrupt, for a row whose state cannot be trusted and, with `wanted`, for another key
/// under the same index.
result<record> read_record(const table& from, int row, int first, const identity* wanted);
/// An answer, from `answer_columns` that begin at `first`; null: there is none that can be read.
std::shared_ptr<const stored_answer> read_answer(const table& from, int row, int first);
/// A record with its answer, from `whole_columns`. Errors: as `read_record`.
result<record> read_whole(const table& from, int row, int first, const identity* wanted);
/// The id that such a row has.
std::uint64_t id_of(const table& from, int row, int first);

}  // namespace callonce::postgres::detail
