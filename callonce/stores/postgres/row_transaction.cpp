#include <callonce/stores/postgres/row_transaction.hpp>
#include <callonce/stores/postgres/wire.hpp>

namespace callonce::postgres::detail {
namespace {

// Whatever the database has as its default. Somebody's uncommitted insert is waited for no longer
// than this; less would also end waits for the server's own short locks.
const char* const begin_sql = "begin isolation level read committed read write";
const char* const lock_timeout_sql = "set local lock_timeout = '100ms'";
// Between two round trips this process may stop, or its host go: the row must not stay locked.
const char* const idle_timeout_sql = "set local idle_in_transaction_session_timeout = '5s'";

result<row> read_row_of(const table& from, const identity& wanted) {
  result<record> current = read_record(from, 0, 0, &wanted);
  if (!current) return current.error();
  return row{id_of(from, 0, 0), *std::move(current)};
}

}  // namespace

row_transaction::row_transaction(sender send, const clock_expressions& by, const identity& of)
    : send_(std::move(send)), clocks_(by), of_(of) {}

bool row_transaction::ask(std::vector<message> statements) {
  said_ = send_(statements);
  return said_.complete && said_.fault().empty();
}

bool row_transaction::ask_and_commit(std::vector<message> statements) {
  statements.emplace_back("commit");
  return ask(std::move(statements)) && was_committed(said_);
}

step row_transaction::roll_back() {
  return ask({message{"rollback"}}) ? step::moved : step::failed;
}

void row_transaction::read_found(const table* locked, const table& seen) {
  const bool mine = locked != nullptr && locked->rows() == 1;
  const table& from = mine ? *locked : seen;
  hold_ = mine ? row_hold::free : row_hold::held;
  exists_ = from.rows() == 1;
  if (exists_) found_ = read_row_of(from, of_);
}

step row_transaction::look(std::optional<std::uint32_t> attempt) {
  std::vector<message> all{message{begin_sql}, message{lock_timeout_sql}, message{idle_timeout_sql},
                           ask_clocks(clocks_)};
  if (attempt) all.push_back(lock_row(of_, *attempt));
  all.push_back(read_row(of_));
  if (!ask(std::move(all))) return step::failed;
  now_ = read_moment(said_.answers[3]);
  read_found(attempt ? &said_.answers[4] : nullptr, said_.answers.back());
  return step::done;
}

step row_transaction::lock(std::uint32_t attempt) {
  if (!ask({lock_row(of_, attempt), read_row(of_)})) return step::failed;
  read_found(&said_.answers[0], said_.answers[1]);
  return step::done;
}

step row_transaction::commit() {
  return ask_and_commit({}) ? step::done : step::failed;
}

// The row is read once more after the answer: it may have been purged, or claimed anew, between
// the two.
step row_transaction::read_answer() {
  if (!ask_and_commit({read_answer_of(found_->id), read_row(of_)})) return step::failed;
  const table& again = said_.answers[1];
  if (again.rows() != 1) return step::moved;
  const result<row> still = read_row_of(again, of_);
  const bool same = still && still->current.claim_id == found_->current.claim_id &&
                    still->current.attempt == found_->current.attempt &&
                    still->current.state == found_->current.state;
  if (!same) return step::moved;
  const table& answer = said_.answers[0];
  if (answer.rows() == 1) found_->current.answer = detail::read_answer(answer, 0, 0);
  return step::done;
}

// Read back under its claim_id before it counts: servers have taken two inserts of one key.
step row_transaction::insert(const record& first) {
  if (!ask_and_commit({insert_row(first), read_row(of_)})) return step::failed;
  if (said_.answers[0].rows() != 1) return step::moved;
  const table& back = said_.answers[1];
  const result<row> made = back.rows() == 1 ? read_row_of(back, of_) : result<row>{errc::corrupt};
  const bool mine = made && made->current.claim_id == first.claim_id;
  return mine ? step::done : step::moved;
}

// With more to write it is first seen that there is a row to write it for: a lock may be lost by a
// server that keeps it in memory.
step row_transaction::overwrite(const record& next, std::vector<message> more) {
  const message update = update_row(next, found_->current);
  const bool sent = more.empty() ? ask_and_commit({update}) : ask({update});
  if (!sent) return step::failed;
  const bool written = said_.answers[0].rows() == 1;
  if (more.empty()) return written ? step::done : step::moved;
  if (!written) return roll_back();
  return ask_and_commit(std::move(more)) ? step::done : step::failed;
}

step row_transaction::remove() {
  if (!ask({delete_row(found_->current)})) return step::failed;
  if (said_.answers[0].rows() != 1) return roll_back();
  return ask_and_commit({delete_answer(found_->id)}) ? step::done : step::failed;
}

step row_transaction::drop_body() {
  return ask_and_commit({detail::drop_body(found_->id)}) ? step::done : step::failed;
}

}  // namespace callonce::postgres::detail
