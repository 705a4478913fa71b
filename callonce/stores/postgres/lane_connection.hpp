#pragma once

// Internal: a lane's connection to a PostgreSQL server.

#include <callonce/stores/postgres/wire.hpp>

namespace callonce::postgres::detail {

/// Applies a batch as one transaction in one round trip: the functions of migrations/0002 write
/// what may be written, and core/transition says of the rest why not.
class lane_connection final : public group_commit::connection {
 public:
  /// `patience` bounds each round trip. Errors: throws misconfigured.
  lane_connection(place& where, std::chrono::milliseconds patience) : wire_(where, patience) {}

  results apply(std::span<const group_commit::operation* const> batch) override;
  bool recover() override { return wire_.recover(); }

 private:
  void ask_again(std::span<const group_commit::operation* const> batch,
                 std::vector<std::size_t> undecided, std::vector<group_commit::outcome>& into);

  wire wire_;
};

}  // namespace callonce::postgres::detail
