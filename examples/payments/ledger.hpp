#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace payments {

/// A charge as the API knows it. Units: all amounts in the currency's minor unit.
struct charge {
  std::int64_t id = 0;
  std::string account;
  std::int64_t amount = 0;
  std::string currency;
  std::string source;
  std::string description;
  std::int64_t captured = 0;
  std::int64_t refunded = 0;
  std::int64_t created = 0;  // Units: seconds since 1970.
};

/// What one account has booked: one booking for each charge, capture and refund.
struct balance {
  std::string account;
  std::int64_t bookings = 0;
  std::int64_t sum = 0;
};

/// The books: one SQLite file. Every call that moves money is one committed transaction.
/// Errors: std::runtime_error from every call, when SQLite refuses. Threads: any.
class ledger {
 public:
  /// Opens the file and creates the tables where they are missing.
  explicit ledger(const std::string& path);
  ~ledger();
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  /// Books a charge. Post: a new id, each time it is called.
  charge add(charge draft);
  /// Captures part of an authorised charge. Post: false, and nothing booked, if less is left of it.
  bool capture(const charge& of, std::int64_t amount);
  /// Gives back part of a captured charge. Post: the refund's id; none, and nothing booked, if less
  /// is left.
  std::optional<std::int64_t> refund(const charge& of, std::int64_t amount);

  std::optional<charge> find(std::string_view account, std::int64_t id);
  /// The account's latest charges, newest first.
  std::vector<charge> latest(std::string_view account, int count);
  std::vector<balance> balances();

 private:
  std::int64_t book(const charge& of, std::string_view kind, std::int64_t amount);

  std::mutex mutex_;
  sqlite3* database_ = nullptr;
};

}  // namespace payments
