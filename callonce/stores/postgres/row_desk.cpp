// The desk in the form `rows`: answers and what is due are asked and written one by one.

#include <callonce/stores/postgres/desk.hpp>
#include <callonce/stores/postgres/row_transaction.hpp>
#include <callonce/stores/postgres/wire.hpp>

namespace callonce::postgres::detail {
namespace {

message page_after(std::int64_t id, std::size_t limit) {
  message made{std::string{"select "} + record_columns +
               " from callonce.record where id > $1::bigint order by id limit $2::bigint"};
  made.with_number(id).with_number(static_cast<std::int64_t>(limit));
  return made;
}

}  // namespace

// All in one round trip, each by a statement of its own: tables that are spread are not joined.
bool desk::add_answers(std::vector<row>& to, const std::function<bool(const record&)>& wanted) {
  std::vector<row*> asked;
  std::vector<message> statements;
  for (row& each : to) {
    if (each.current.state != record_state::completed || !wanted(each.current)) continue;
    asked.push_back(&each);
    statements.push_back(read_answer_of(each.id));
  }
  if (asked.empty()) return true;
  const std::optional<round_trip> said = ask(statements);
  if (!said) return false;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    const table& from = said->answers[at];
    if (from.rows() == 1) asked[at]->current.answer = read_answer(from, 0, 0);
  }
  return true;
}

result<purge_reply> desk::purge_rows(std::size_t limit) {
  const std::vector<message> look{ask_clocks(clocks_), page_after(purged_to_, limit)};
  const std::optional<round_trip> said = ask(look);
  if (!said) return errc::unavailable;
  const moment now = read_moment(said->answers[0]);
  const table& found = said->answers[1];
  std::vector<row> met;
  for (int at = 0; at < found.rows(); ++at) {
    result<record> one = read_record(found, at, 0, nullptr);
    if (one) met.push_back({id_of(found, at, 0), *std::move(one)});
  }
  const auto body_is_due = [&](const record& of) { return of.body_until <= now.wall; };
  if (!add_answers(met, body_is_due)) return errc::unavailable;

  purge_reply made;
  for (const row& each : met) {
    const bool due = on_purge(each.current, now) != purge_verdict::keep;
    if (due && !purge_row(each, made)) return errc::unavailable;
  }
  made.more = static_cast<std::size_t>(found.rows()) == limit;
  purged_to_ = made.more ? static_cast<std::int64_t>(id_of(found, found.rows() - 1, 0)) : 0;
  return made;
}

// Judged again once it is locked: a renewal, or a new claim, may have come in between. What
// somebody is at stays for the next time round. False, when the server does not answer or refuses.
bool desk::purge_row(const row& seen, purge_reply& into) {
  const auto send = [this](std::span<const message> all) {
    return session_->ask(all, where_.in().now() + patience_);
  };
  row_transaction over{send, clocks_, seen.current.id};
  step ended = over.look(seen.current.attempt);
  const bool same = ended == step::done && over.exists() && over.found() &&
                    over.found()->current.claim_id == seen.current.claim_id;
  purge_verdict verdict = purge_verdict::keep;
  if (same) {
    record now_there = over.found()->current;
    now_there.answer = seen.current.answer;
    verdict = on_purge(now_there, over.now(), over.hold());
    if (verdict == purge_verdict::park) {
      record parked = now_there;
      parked.state = record_state::parked;
      ended = over.overwrite(parked);
    }
  }
  if (verdict == purge_verdict::remove) ended = over.remove();
  if (verdict == purge_verdict::drop_body) ended = over.drop_body();
  if (verdict == purge_verdict::keep && ended == step::done) ended = over.commit();
  if (ended == step::failed && over.said().complete) {
    session_->ask("rollback", where_.in().now() + patience_);
  }
  if (ended != step::done) return ended == step::moved || is_contention(over.said());
  into.parked += verdict == purge_verdict::park ? 1 : 0;
  into.records += verdict == purge_verdict::remove ? 1 : 0;
  into.bodies += verdict == purge_verdict::drop_body ? 1 : 0;
  return true;
}

}  // namespace callonce::postgres::detail
