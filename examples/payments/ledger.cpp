#include <ctime>
#include <stdexcept>

#include <examples/payments/ledger.hpp>
#include <sqlite3.h>

namespace payments {
namespace {

constexpr auto tables = R"sql(
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS charges (
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL,
    source TEXT NOT NULL, description TEXT NOT NULL, captured INTEGER NOT NULL,
    refunded INTEGER NOT NULL, created INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS bookings (
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, kind TEXT NOT NULL,
    charge INTEGER NOT NULL REFERENCES charges, amount INTEGER NOT NULL);
)sql";

constexpr auto columns =
    "id, account, amount, currency, source, description, captured, refunded, created";

/// A prepared statement, its values bound in the order they are given.
class statement {
 public:
  template <typename... Values>
  statement(sqlite3* database, const std::string& sql, const Values&... values)
      : database_(database) {
    check(sqlite3_prepare_v2(database, sql.c_str(), -1, &handle_, nullptr));
    (bind(values), ...);
  }
  ~statement() { sqlite3_finalize(handle_); }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  bool step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    return code == SQLITE_ROW;
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }
  std::string text(int column) const {
    return reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  }

 private:
  void bind(std::int64_t value) { check(sqlite3_bind_int64(handle_, ++bound_, value)); }
  void bind(std::string_view value) {
    check(sqlite3_bind_text(handle_, ++bound_, value.data(), static_cast<int>(value.size()),
                            SQLITE_TRANSIENT));
  }
  void check(int code) const {
    if (code != SQLITE_OK)
      throw std::runtime_error(std::string("ledger: ") + sqlite3_errmsg(database_));
  }

  sqlite3* database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

/// Rolls back unless commit() was reached.
class transaction {
 public:
  explicit transaction(sqlite3* database) : database_(database) {
    statement(database_, "BEGIN IMMEDIATE").step();
  }
  ~transaction() {
    if (!committed_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit() {
    statement(database_, "COMMIT").step();
    committed_ = true;
  }

 private:
  sqlite3* database_;
  bool committed_ = false;
};

charge read(const statement& row) {
  return {.id = row.number(0),
          .account = row.text(1),
          .amount = row.number(2),
          .currency = row.text(3),
          .source = row.text(4),
          .description = row.text(5),
          .captured = row.number(6),
          .refunded = row.number(7),
          .created = row.number(8)};
}

}  // namespace

ledger::ledger(const std::string& path) {
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK ||
      sqlite3_exec(database_, tables, nullptr, nullptr, nullptr) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    throw std::runtime_error("ledger " + path + ": " + why);
  }
}

ledger::~ledger() {
  sqlite3_close(database_);
}

std::int64_t ledger::book(const charge& of, std::string_view kind, std::int64_t amount) {
  statement(database_, "INSERT INTO bookings (account, kind, charge, amount) VALUES (?, ?, ?, ?)",
            of.account, kind, of.id, amount)
      .step();
  return sqlite3_last_insert_rowid(database_);
}

charge ledger::add(charge draft) {
  const std::lock_guard guard(mutex_);
  transaction transaction(database_);
  draft.created = std::time(nullptr);
  statement(database_,
            "INSERT INTO charges (account, amount, currency, source, description, captured, "
            "refunded, created) VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
            draft.account, draft.amount, draft.currency, draft.source, draft.description,
            draft.captured, draft.created)
      .step();
  draft.id = sqlite3_last_insert_rowid(database_);
  book(draft, "charge", draft.captured);
  transaction.commit();
  return draft;
}

bool ledger::capture(const charge& of, std::int64_t amount) {
  const std::lock_guard guard(mutex_);
  transaction transaction(database_);
  statement(database_,
            "UPDATE charges SET captured = captured + ?1 WHERE id = ?2 AND captured + ?1 <= amount",
            amount, of.id)
      .step();
  if (sqlite3_changes(database_) == 0) return false;
  book(of, "capture", amount);
  transaction.commit();
  return true;
}

std::optional<std::int64_t> ledger::refund(const charge& of, std::int64_t amount) {
  const std::lock_guard guard(mutex_);
  transaction transaction(database_);
  statement(
      database_,
      "UPDATE charges SET refunded = refunded + ?1 WHERE id = ?2 AND refunded + ?1 <= captured",
      amount, of.id)
      .step();
  if (sqlite3_changes(database_) == 0) return std::nullopt;
  const auto id = book(of, "refund", -amount);
  transaction.commit();
  return id;
}

std::optional<charge> ledger::find(std::string_view account, std::int64_t id) {
  const std::lock_guard guard(mutex_);
  statement row(database_,
                std::string("SELECT ") + columns + " FROM charges WHERE account = ? AND id = ?",
                account, id);
  if (!row.step()) return std::nullopt;
  return read(row);
}

std::vector<charge> ledger::latest(std::string_view account, int count) {
  const std::lock_guard guard(mutex_);
  statement row(
      database_,
      std::string("SELECT ") + columns + " FROM charges WHERE account = ? ORDER BY id DESC LIMIT ?",
      account, std::int64_t{count});
  std::vector<charge> found;
  while (row.step()) found.push_back(read(row));
  return found;
}

std::vector<balance> ledger::balances() {
  const std::lock_guard guard(mutex_);
  statement row(database_, "SELECT account, count(*), sum(amount) FROM bookings GROUP BY account");
  std::vector<balance> found;
  while (row.step())
    found.push_back({.account = row.text(0), .bookings = row.number(1), .sum = row.number(2)});
  return found;
}

}  // namespace payments
