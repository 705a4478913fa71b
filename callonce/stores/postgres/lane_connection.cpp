#include <callonce/stores/postgres/batch.hpp>
#include <callonce/stores/postgres/lane_connection.hpp>

namespace callonce::postgres::detail {
namespace {

using group_commit::batch_fault;
using group_commit::outcome;

}  // namespace

group_commit::connection::results lane_connection::apply(
    std::span<const group_commit::operation* const> batch_of) {
  detail::batch sending{batch_of};
  for (int round = 1;; ++round) {
    const steady_time sent_at = wire_.in().now();
    const round_trip said = wire_.ask(sending.statements());
    if (was_committed(said)) {
      std::vector<outcome> made = sending.outcomes(said, sent_at);
      ask_again(batch_of, sending.undecided(), made);
      return made;
    }
    wire_.roll_back_after(said);
    if (round == most_tries || !is_contention(said)) return explain(said, batch_of.size());
  }
}

// Claims whose row came and went meanwhile; the others of their batch are durable already.
void lane_connection::ask_again(std::span<const group_commit::operation* const> batch_of,
                                std::vector<std::size_t> undecided, std::vector<outcome>& into) {
  for (int round = 1; round < most_tries && !undecided.empty(); ++round) {
    std::vector<const group_commit::operation*> rest;
    for (const std::size_t place : undecided) rest.push_back(batch_of[place]);
    detail::batch sending{rest};
    const steady_time sent_at = wire_.in().now();
    const round_trip said = wire_.ask(sending.statements());
    if (!was_committed(said)) {
      wire_.roll_back_after(said);
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

}  // namespace callonce::postgres::detail
