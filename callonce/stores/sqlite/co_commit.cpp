#include <memory>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <sqlite3.h>

#include <callonce/stores/sqlite/co_commit.hpp>

namespace callonce::sqlite {
namespace {

constexpr std::string_view resource_field = "Idempotency-Resource";

struct finalizer {
  void operator()(sqlite3_stmt* of) const { sqlite3_finalize(of); }
};
using prepared = std::unique_ptr<sqlite3_stmt, finalizer>;

// The refusals that the migration words begin with their id.
errc meaning_of(int code, std::string_view message) {
  if (message.starts_with("ID001")) return errc::claim_lost;
  if (message.starts_with("ID002")) return errc::already_completed;
  switch (code & 0xFF) {
    case SQLITE_CONSTRAINT:
      return errc::corrupt;
    case SQLITE_ERROR:
      return errc::misconfigured;
    default:
      return errc::unavailable;
  }
}

result<void> run(sqlite3* in, const co_commit_statement& what) {
  sqlite3_stmt* made = nullptr;
  const auto size = static_cast<int>(what.sql.size());
  int code = sqlite3_prepare_v2(in, what.sql.data(), size, &made, nullptr);
  const prepared statement{made};
  const auto text = [&](int at, const std::string& value) {
    if (code != SQLITE_OK) return;
    code = sqlite3_bind_text64(made, at, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  };
  text(1, what.claim);
  if (code == SQLITE_OK) code = sqlite3_bind_int(made, 2, what.status);
  text(3, what.headers);
  // An empty body may be null, and a null pointer would bind NULL.
  const std::string_view body = what.body.empty() ? std::string_view{""} : what.body.text();
  if (code == SQLITE_OK) {
    code = sqlite3_bind_blob64(made, 4, body.data(), body.size(), SQLITE_STATIC);
  }
  if (code == SQLITE_OK) code = sqlite3_step(made);
  if (code == SQLITE_DONE) return {};
  return meaning_of(code, sqlite3_errmsg(in));
}

}  // namespace

co_commit_statement completion_of(const claim& won, const response& answer) {
  stored_answer frozen = won.frozen(answer);
  // The resource travels under its own name; a reader takes it out again.
  const std::string* resource = answer.headers().find(resource_field);
  if (resource != nullptr) frozen.headers.add(std::string{resource_field}, *resource);
  boost::json::array lines;
  for (const field& line : frozen.headers) {
    lines.emplace_back(boost::json::array{line.name, line.value});
  }
  co_commit_statement made;
  made.claim = won.handle();
  made.status = frozen.status;
  made.headers = boost::json::serialize(lines);
  // Whole: the statement holds it to the record's bound.
  made.body = answer.content();
  return made;
}

result<void> complete(sqlite3* in, const claim& won, const response& answer) {
  if (!won.is_protected()) return {};
  if (sqlite3_get_autocommit(in) != 0) return errc::no_transaction;
  const co_commit_statement what = completion_of(won, answer);
  const result<void> done = run(in, what);
  // Most faults have ended the transaction; none may leave the effect to be committed alone.
  const bool is_open = sqlite3_get_autocommit(in) == 0;
  if (!done && is_open) sqlite3_exec(in, "rollback", nullptr, nullptr, nullptr);
  return done;
}

}  // namespace callonce::sqlite
