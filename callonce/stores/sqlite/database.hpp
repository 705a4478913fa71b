#pragma once

// Internal: an SQLite connection and its prepared statements.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <callonce/engine/environment.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace callonce::sqlite::detail {

/// One connection, set up as docs/decisions say: WAL, synchronous=FULL, no checkpoint on the
/// committing thread. A statement that fails leaves its code in `fault()`, where it stays until
/// `clear_fault()`: a transaction looks once, before it commits.
/// Threads: one at a time.
class database {
 public:
  /// Errors: throws misconfigured.
  database(const std::filesystem::path& file, environment& in, int cache_kib);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  sqlite3* handle() const noexcept { return handle_; }

  /// Runs statements without results. Post: the SQLite code, which is also noted as fault.
  int execute(const char* sql);
  /// Begins the transaction of a writer, waiting for others as long as `patience`.
  bool begin(std::chrono::milliseconds patience);
  /// Ends the transaction, if there still is one.
  void roll_back();

  int fault() const noexcept { return fault_; }
  void clear_fault() noexcept { fault_ = 0; }
  void note(int code) noexcept;
  std::string message() const;

 private:
  static int on_busy(void* self, int asked_before);
  void configure(int cache_kib);

  environment& environment_;
  sqlite3* handle_ = nullptr;
  steady_time give_up_at_;
  int fault_ = 0;
};

/// A prepared statement. Numbers of parameters count from 1, of columns from 0, as in SQLite.
class statement {
 public:
  /// Errors: throws misconfigured when the file's schema does not know what is asked for.
  statement(database& in, const std::string& sql);
  ~statement();
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  void bind(int at, std::int64_t value);
  /// Bytes and texts are not copied: they stay alive until the statement is reset.
  void bind(int at, std::span<const std::byte> bytes);
  void bind(int at, std::string_view text);
  void bind_null(int at);

  /// Post: whether there is a row; without one the statement has ended, or failed with a fault.
  bool step();
  /// Steps to the end and resets.
  void run();
  void reset();

  std::int64_t integer(int column) const;
  std::span<const std::byte> bytes(int column) const;
  std::string_view text(int column) const;
  bool is_null(int column) const;

 private:
  database& in_;
  sqlite3_stmt* handle_ = nullptr;
};

/// Resets a statement at the end of the scope, so that its read lock and its bindings go.
class reset_at_end {
 public:
  explicit reset_at_end(statement& of) : of_(of) {}
  ~reset_at_end() { of_.reset(); }
  reset_at_end(const reset_at_end&) = delete;
  reset_at_end& operator=(const reset_at_end&) = delete;

 private:
  statement& of_;
};

}  // namespace callonce::sqlite::detail
