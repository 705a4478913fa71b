#pragma once

// Internal: the statements of the form `rows`. Each names one row: a record by its key_index, an
// answer by its id. Servers that spread rows over nodes send each to one of them.

#include <callonce/engine/store.hpp>
#include <callonce/stores/postgres/rows.hpp>
#include <callonce/stores/postgres/store.hpp>

namespace callonce::postgres::detail {

/// A record as it stands, with the number that its answer has.
struct row {
  std::uint64_t id = 0;
  record current;
};

/// Brings one row, for `read_moment`. It reads no table, so that one node's clock judges.
message ask_clocks(const clock_expressions& by);
moment read_moment(const table& from);

/// Bring `record_columns`. The second locks the row, unless it stands at another attempt or
/// somebody holds it: then it brings nothing, and waits for nobody.
message read_row(const identity& of);
message lock_row(const identity& of, std::uint32_t attempt);

/// Bring a row where something was written.
message insert_row(const record& first);
/// Writes `next` over `judged`, unless that has changed in anything by which it was judged.
message update_row(const record& next, const record& judged);
message delete_row(const record& judged);

/// Brings `answer_columns`.
message read_answer_of(std::uint64_t id);
message insert_answer(std::uint64_t id, const stored_answer& answer);
message drop_body(std::uint64_t id);
message delete_answer(std::uint64_t id);

message note(const record& settled, const settle_reason& reason, instant wall);

}  // namespace callonce::postgres::detail
