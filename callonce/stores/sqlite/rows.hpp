#pragma once

// Internal: records as rows.

#include <cstdint>
#include <optional>
#include <string>

#include <callonce/core/error.hpp>
#include <callonce/core/transition.hpp>
#include <callonce/stores/sqlite/clocks.hpp>
#include <callonce/stores/sqlite/database.hpp>

namespace callonce::sqlite::detail {

/// A row read back.
struct row {
  std::int64_t id = 0;
  record current;
};

/// Reads and writes records over one connection.
class rows {
 public:
  /// Post: the host's boot is known to the file.
  rows(database& in, const clocks& by);

  moment now() const { return {clocks_.lease(), clocks_.wall()}; }

  /// Errors: corrupt, for a row whose state cannot be trusted and for another key under the same
  /// index.
  result<std::optional<row>> find(const identity& id);
  /// Reads the row of a statement that selects `columns()`; `known` saves making its identity.
  result<row> read(const statement& from, const identity* known = nullptr);
  static const std::string& columns();

  /// Writes `next` in place of `found`, or as a new row.
  void write(const record& next, const row* found);
  void drop_body(std::int64_t id);
  void remove(std::int64_t id);

 private:
  void bind_fields(statement& to, const record& next);
  void write_answer(std::int64_t id, const stored_answer& answer);
  std::shared_ptr<const stored_answer> read_answer(std::int64_t id);

  database& database_;
  const clocks& clocks_;
  std::int64_t boot_ = 0;
  statement find_;
  statement insert_;
  statement update_;
  statement find_answer_;
  statement write_answer_;
  statement drop_body_;
  statement remove_answer_;
  statement remove_;
};

}  // namespace callonce::sqlite::detail
