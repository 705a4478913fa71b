#include <algorithm>
#include <array>

#include <callonce/stores/postgres/batch.hpp>
#include <callonce/stores/postgres/lane_connection.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>

namespace callonce::postgres::detail {
namespace {

using namespace std::chrono_literals;
using group_commit::batch_fault;
using group_commit::outcome;

// A round trip that takes longer is over: less would cut batches off that a busy disk delays.
constexpr std::chrono::milliseconds shortest_patience = 2s;
// Deadlocks and the like are over once the others have gone on.
constexpr int contention_tries = 5;
// "The insert met a row, and then there was none."
constexpr int claim_rounds = 5;

bool is_one_of(std::string_view fault, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), fault) != codes.end();
}

bool is_class(std::string_view fault, std::string_view first_two) {
  return fault.starts_with(first_two);
}

// serialization_failure, deadlock_detected, lock_not_available
bool is_contention(std::string_view fault) {
  return is_one_of(fault, {"40001", "40P01", "55P03"});
}

std::vector<outcome> all(std::size_t operations, errc why) {
  return std::vector<outcome>(operations, make_error_code(why));
}

bool was_committed(const round_trip& said) {
  return said.complete && said.fault().empty() && said.answers.back().tag() == "COMMIT";
}

}  // namespace

lane_connection::lane_connection(place& where, std::chrono::milliseconds patience)
    : where_(where),
      patience_(std::max(patience, shortest_patience)),
      session_(where.insist(where.in().now() + patience_)) {}

group_commit::connection::results lane_connection::apply(
    std::span<const group_commit::operation* const> batch_of) {
  detail::batch sending{batch_of};
  for (int round = 1;; ++round) {
    const steady_time sent_at = where_.in().now();
    const round_trip said = session_->ask(sending.statements(), sent_at + patience_);
    if (was_committed(said) && !said.warned) {
      std::vector<outcome> made = sending.outcomes(said, sent_at);
      ask_again(batch_of, sending.undecided(), made);
      return made;
    }
    if (said.complete) roll_back();
    if (round == contention_tries || !is_contention(said.fault())) {
      return explain(said, batch_of.size());
    }
  }
}

// Claims whose row came and went meanwhile; the others of their batch are durable already.
void lane_connection::ask_again(std::span<const group_commit::operation* const> batch_of,
                                std::vector<std::size_t> undecided, std::vector<outcome>& into) {
  for (int round = 1; round < claim_rounds && !undecided.empty(); ++round) {
    std::vector<const group_commit::operation*> rest;
    for (const std::size_t place : undecided) rest.push_back(batch_of[place]);
    detail::batch sending{rest};
    const steady_time sent_at = where_.in().now();
    const round_trip said = session_->ask(sending.statements(), sent_at + patience_);
    if (!was_committed(said) || said.warned) {
      if (said.complete) roll_back();
      const results why = explain(said, rest.size());
      const bool doubt = !why && why.error() == batch_fault::in_doubt;
      for (const std::size_t place : undecided) {
        into[place] = make_error_code(doubt ? errc::in_doubt : errc::unavailable);
      }
      return;
    }
    std::vector<outcome> met = sending.outcomes(said, sent_at);
    std::vector<std::size_t> still;
    for (std::size_t each = 0; each < rest.size(); ++each) {
      into[undecided[each]] = std::move(met[each]);
    }
    for (const std::size_t each : sending.undecided()) still.push_back(undecided[each]);
    undecided = std::move(still);
  }
}

// What a transaction that was not committed means for its operations.
group_commit::connection::results lane_connection::explain(const round_trip& said,
                                                           std::size_t operations) {
  const std::string_view fault = said.fault();
  // Without a code the connection has gone, and everything was sent, COMMIT too; a warning says
  // that the commit may be known to this server alone.
  const bool silent = !said.complete && !is_class(fault, "25") && !is_class(fault, "57");
  if (silent || said.warned || is_class(fault, "08") || fault == "40003") {
    return batch_fault::in_doubt;
  }
  // A server that is being stopped or was never a primary has committed nothing it refused; one
  // that was asked too often (statement_timeout) neither.
  if (is_class(fault, "25") || is_class(fault, "57")) return batch_fault::not_applied;
  // Out of disk, memory or connections: all share it, and the callers hear it at once.
  if (is_class(fault, "53") || is_class(fault, "58")) return all(operations, errc::unavailable);
  // No such function, no right to call it: the schema was changed under our feet.
  if (is_class(fault, "42") || is_class(fault, "3F")) return all(operations, errc::misconfigured);
  if (is_class(fault, "XX") && operations == 1) return all(operations, errc::corrupt);
  return batch_fault::refused;
}

void lane_connection::roll_back() {
  session_->ask("rollback", where_.in().now() + patience_);
}

// The old connection is dropped only once there is a new one, to the next server first: the last
// one may be a primary that was left behind.
bool lane_connection::recover() {
  if (session_->usable()) return true;
  std::string complaint;
  try {
    std::unique_ptr<session> fresh =
        where_.connect(++turn_, where_.in().now() + shortest_patience, complaint);
    if (!fresh) return false;
    session_ = std::move(fresh);
    return true;
  } catch (const misconfigured&) {
    return false;
  }
}

}  // namespace callonce::postgres::detail
