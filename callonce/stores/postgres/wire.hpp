#pragma once

// Internal: what the connection of a lane is in either form of the statements.

#include <memory>

#include <callonce/stores/group_commit/connection.hpp>
#include <callonce/stores/postgres/place.hpp>

namespace callonce::postgres::detail {

/// How often an operation is tried: deadlocks and the like are over once the others have gone on,
/// and so is "a row was met, and a moment later there was none".
inline constexpr int most_tries = 5;

/// A lane's connection to whichever server may be used, and what its answers mean for operations.
/// Threads: one, the lane's.
class wire {
 public:
  using results = group_commit::connection::results;

  /// `patience` bounds each round trip. Errors: throws misconfigured.
  wire(place& where, std::chrono::milliseconds patience);

  environment& in() const noexcept { return where_.in(); }
  /// Sends all statements at once and takes their answers.
  round_trip ask(std::span<const message> statements);
  /// Ends the transaction of a round trip that was not committed.
  void roll_back_after(const round_trip& said);
  /// Makes the connection usable, by a new one if need be. Post: false: call again later.
  bool recover();

 private:
  place& where_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<session> session_;
  std::size_t turn_ = 0;
};

/// Whether its last statement was a COMMIT that counts.
bool was_committed(const round_trip& said);
/// Whether somebody else's transaction was in the way: nothing of it was applied.
bool is_contention(const round_trip& said);
/// What a transaction that was not committed means for its operations.
wire::results explain(const round_trip& said, std::size_t operations);

}  // namespace callonce::postgres::detail
