#pragma once

#include <string>
#include <string_view>

#include <callonce/core/error.hpp>
#include <callonce/core/message.hpp>
#include <callonce/engine/claim.hpp>

struct sqlite3;

namespace callonce::sqlite {

// For an application whose tables stand in the file of the records: its effect and the completion
// of the key become durable together or not at all. Its transaction begins with BEGIN IMMEDIATE
// (one that reads first and writes then can find itself too late), is short, for no key can be
// claimed meanwhile, and completes last, just before COMMIT. The tables must be in the connection's
// main file: over two attached files SQLite's log commits each for itself.

/// Completes a record, as data for a client that this library does not know. Whatever it fails
/// with, nothing of the transaction may be committed; for a lost claim (message "ID001: …") and a
/// second completion ("ID002: …") it is gone already, and the next statement would be in none.
struct co_commit_statement {
  /// The values of its parameters ?1 to ?4 follow.
  std::string_view sql =
      "insert into main.callonce_complete (claim, status, headers, body) values (?1, ?2, ?3, ?4)";
  std::string claim;    ///< Text.
  int status = 0;       ///< An integer.
  std::string headers;  ///< Text: a JSON array of [name, value] pairs.
  body_bytes body;      ///< A blob.
};

/// What `complete` runs for this answer: without the lines that no replay may repeat, and without
/// trailers. Pre: `won.is_protected()`.
co_commit_statement completion_of(const claim& won, const response& answer);

/// Gives 'claimed', 'completed', 'released' or 'parked' for the handle ?1, and no row where its
/// claim is lost.
inline constexpr std::string_view status_sql =
    "select state from main.callonce_status where claim = json_quote(?1)";

/// Completes the record of `won` with `answer` inside the open transaction of the caller's own
/// connection; the handler then commits and ends with `committed`. A run that is not protected has
/// no record: nothing is written.
/// Errors, which all but the first leave no transaction behind: no_transaction; claim_lost;
/// already_completed; unavailable; corrupt, for a status or header that no answer can have;
/// misconfigured, where this is not the file of the records.
/// Threads: the caller's, as the connection.
[[nodiscard]] result<void> complete(sqlite3* in, const claim& won, const response& answer);

}  // namespace callonce::sqlite
