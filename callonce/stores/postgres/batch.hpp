#pragma once

// Internal: a batch as the statements of one transaction, and their answers as its outcomes.

#include <span>
#include <vector>

#include <callonce/stores/group_commit/operation.hpp>
#include <callonce/stores/postgres/rows.hpp>

namespace callonce::postgres::detail {

/// One transaction. Pre: at most one operation a key.
class batch {
 public:
  explicit batch(std::span<const group_commit::operation* const> of);

  std::span<const message> statements() const noexcept { return statements_; }
  /// What each operation met, in the order of the batch. Pre: `said` is complete and faultless.
  /// A claim that met a row which was gone a moment later has no outcome yet: see `undecided`.
  std::vector<group_commit::outcome> outcomes(const round_trip& said, steady_time sent_at);
  /// Places of claims that have to be asked again.
  const std::vector<std::size_t>& undecided() const noexcept { return undecided_; }

 private:
  enum class part { writes, settlement, claims };
  struct asked {
    part what;
    std::vector<std::size_t> places;  // In the batch, in the order of the statement's arrays.
  };

  void sort_out();
  void add_writes(std::vector<std::size_t> places);
  void add_settlement(std::size_t place);
  void add_claims(std::vector<std::size_t> places);
  void read_claims(const asked& by, const table& from, steady_time sent_at,
                   std::vector<group_commit::outcome>& into);
  void read_writes(const asked& by, const table& from, steady_time sent_at,
                   std::vector<group_commit::outcome>& into);
  group_commit::outcome claim_met(std::size_t place, found_row& met, moment now);
  group_commit::outcome write_met(std::size_t place, found_row& met, moment now);

  const std::span<const group_commit::operation* const> of_;
  std::vector<message> statements_;
  std::vector<asked> asked_;
  std::vector<std::size_t> undecided_;
};

}  // namespace callonce::postgres::detail
