#pragma once

// Internal: one connection to one server, and what it answers.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/engine/environment.hpp>
#include <callonce/stores/postgres/parameters.hpp>
#include <callonce/stores/postgres/servers.hpp>

struct pg_conn;
struct pg_result;

namespace callonce::postgres::detail {

/// What one statement brought: rows in the binary format. Numbers of rows and columns count from 0.
class table {
 public:
  table() = default;
  explicit table(pg_result* from);

  int rows() const;
  bool is_null(int row, int column) const;
  std::int64_t integer(int row, int column) const;
  std::string_view bytes(int row, int column) const;
  /// The word by which the server names what it has done, as COMMIT.
  std::string_view tag() const;
  /// The five characters of an error; empty: it succeeded.
  std::string_view fault() const;
  /// For start-up lines only: it may quote what a client sent.
  std::string complaint() const;

 private:
  std::shared_ptr<pg_result> from_;
};

/// How a round trip ended.
struct round_trip {
  std::vector<table> answers;  ///< Of the statements that were reached, in order.
  bool complete = false;       ///< The server has said that there is no more.
  bool warned = false;         ///< With the last answer came a warning.

  /// The first error among the answers; empty: there is none.
  std::string_view fault() const;
};

/// A connection. Every wait has an end: a server that says nothing is left.
/// Threads: one at a time.
class session {
 public:
  /// Null, with `complaint` filled, when the server cannot be reached until then.
  static std::unique_ptr<session> open(const server& to, environment& in, steady_time until,
                                       std::string& complaint);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Sends all statements at once and takes their answers. After the first error the server skips
  /// the rest. Post: unless `complete`, the connection is of no use any more.
  round_trip ask(std::span<const message> statements, steady_time until);
  /// The same for statements without parameters and results.
  round_trip ask(const std::string& sql, steady_time until);

  /// Runs a script of many statements without parameters, by the simple protocol.
  /// Post: empty, or the server's complaint.
  std::string run_script(const std::string& script, steady_time until);

  bool usable() const noexcept { return usable_; }

 private:
  session(pg_conn* over, environment& in);
  bool connect(steady_time until);
  bool send(std::span<const message> statements);
  bool flush_and_read(bool want_write, steady_time until);
  bool take_answers(round_trip& into, steady_time until);
  static void on_notice(void* self, const pg_result* notice);

  pg_conn* const over_;
  environment& environment_;
  bool usable_ = true;
  bool warned_ = false;
};

}  // namespace callonce::postgres::detail
