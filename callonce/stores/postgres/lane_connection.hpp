#pragma once

// Internal: a lane's connection to a PostgreSQL server.

#include <memory>

#include <callonce/stores/group_commit/connection.hpp>
#include <callonce/stores/postgres/place.hpp>

namespace callonce::postgres::detail {

/// Applies a batch as one transaction in one round trip: the functions of migrations/0002 write
/// what may be written, and core/transition says of the rest why not.
class lane_connection final : public group_commit::connection {
 public:
  /// `patience` bounds each round trip. Errors: throws misconfigured.
  lane_connection(place& where, std::chrono::milliseconds patience);

  results apply(std::span<const group_commit::operation* const> batch) override;
  bool recover() override;

 private:
  void ask_again(std::span<const group_commit::operation* const> batch,
                 std::vector<std::size_t> undecided, std::vector<group_commit::outcome>& into);
  results explain(const round_trip& said, std::size_t operations);
  void roll_back();

  place& where_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<session> session_;
  std::size_t turn_ = 0;
};

}  // namespace callonce::postgres::detail
