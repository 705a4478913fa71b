#include <algorithm>

#include <callonce/stores/postgres/misconfigured.hpp>
#include <callonce/stores/postgres/wire.hpp>

namespace callonce::postgres::detail {
namespace {

using namespace std::chrono_literals;
using group_commit::batch_fault;
using group_commit::outcome;

// A round trip that takes longer is over: less would cut batches off that a busy disk delays.
constexpr std::chrono::milliseconds shortest_patience = 2s;

bool is_class(std::string_view fault, std::string_view first_two) {
  return fault.starts_with(first_two);
}

std::vector<outcome> all(std::size_t operations, errc why) {
  return std::vector<outcome>(operations, make_error_code(why));
}

}  // namespace

bool was_committed(const round_trip& said) {
  return said.complete && said.fault().empty() && said.answers.back().tag() == "COMMIT" &&
         !said.warned;
}

// serialization_failure, deadlock_detected, lock_not_available
bool is_contention(const round_trip& said) {
  const std::string_view fault = said.fault();
  return fault == "40001" || fault == "40P01" || fault == "55P03";
}

wire::results explain(const round_trip& said, std::size_t operations) {
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

wire::wire(place& where, std::chrono::milliseconds patience)
    : where_(where),
      patience_(std::max(patience, shortest_patience)),
      session_(where.insist(where.in().now() + patience_)) {}

round_trip wire::ask(std::span<const message> statements) {
  return session_->ask(statements, in().now() + patience_);
}

void wire::roll_back_after(const round_trip& said) {
  if (said.complete) session_->ask("rollback", in().now() + patience_);
}

// The old connection is dropped only once there is a new one, to the next server first: the last
// one may be a primary that was left behind.
bool wire::recover() {
  if (session_->usable()) return true;
  std::string complaint;
  try {
    std::unique_ptr<session> fresh =
        where_.connect(++turn_, in().now() + shortest_patience, complaint);
    if (!fresh) return false;
    session_ = std::move(fresh);
    return true;
  } catch (const misconfigured&) {
    return false;
  }
}

}  // namespace callonce::postgres::detail
