#pragma once

// Internal: the lane's connection to an SQLite file.

#include <memory>

#include <callonce/stores/group_commit/connection.hpp>
#include <callonce/stores/sqlite/checkpointer.hpp>
#include <callonce/stores/sqlite/rows.hpp>
#include <callonce/stores/sqlite/turnstile.hpp>

namespace callonce::sqlite::detail {

/// Applies a batch within BEGIN IMMEDIATE … COMMIT: a single writer makes read, judge, write one
/// atomic step.
class writer final : public group_commit::connection {
 public:
  /// Errors: throws misconfigured.
  writer(std::filesystem::path file, environment& in, const clocks& by, checkpointer& helper);
  ~writer() override;

  results apply(std::span<const group_commit::operation* const> batch) override;
  bool recover() override;

 private:
  struct session;
  struct judge;

  void open();
  results apply_in_turn(std::span<const group_commit::operation* const> batch);
  results explain(std::size_t operations, bool committing);

  const std::filesystem::path file_;
  environment& environment_;
  const clocks& clocks_;
  checkpointer& helper_;
  turnstile turnstile_;
  std::unique_ptr<session> session_;
};

}  // namespace callonce::sqlite::detail
