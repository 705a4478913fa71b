#pragma once

#include <cstddef>
#include <list>
#include <unordered_set>
#include <vector>

#include <callonce/stores/group_commit/operation.hpp>

namespace callonce::group_commit {

/// How much a lane takes at once and how much may wait.
struct limits {
  /// Beyond 256 operations a batch gets slower for its first caller and hardly cheaper for all.
  std::size_t batch_operations = 256;
  /// One batch of large answers must not hold up everybody for seconds.
  std::size_t batch_bytes = std::size_t{4} << 20;
  /// What a stalled store may pile up; a claim beyond it is refused at once.
  std::size_t queue_operations = 4096;
  std::size_t queue_bytes = std::size_t{64} << 20;
};

/// Why a batch has no results.
enum class batch_fault {
  refused,      ///< Rolled back because of one operation; which one is not known.
  not_applied,  ///< Surely not applied, for a reason that all of it shares.
  in_doubt,     ///< COMMIT was sent and not answered: applied, not applied, or applied later.
};

/// What a caller is to be told.
struct answer {
  std::unique_ptr<caller> who;
  outcome what;
};
using answers = std::vector<answer>;
using batch = std::vector<const operation*>;

/// The pure planner of a lane: operations in, batches out; results, faults or silence in, answers
/// out. It knows no thread, no clock and no database; times are handed in.
///
/// Completions, releases, parks, renewals and settlements go first, then claims, each in the order
/// in which they came; of one key at most one operation is in a batch. No answer leaves before the
/// transaction that made it true was answered. A batch that was not answered is sent again, before
/// anything else and for as long as it takes: only a write proves what happened.
/// Threads: one at a time.
class plan {
 public:
  explicit plan(limits within = {});

  /// Takes an operation in. A claim that finds the queue full is answered `unavailable`; nothing
  /// else is ever refused.
  [[nodiscard]] answers submit(call what, std::unique_ptr<caller> who, steady_time patience_ends);

  /// Whether there is a batch to send: something waits, and nothing is on its way.
  bool ready() const noexcept;
  /// The batch to send now. Its operations stay in place, except that `who` may go, until the batch
  /// is settled by `applied` or `failed`. Pre: `ready()`.
  batch next_batch();

  /// COMMIT was answered. Pre: one outcome for each operation of the batch, in its order.
  [[nodiscard]] answers applied(std::vector<outcome> results);
  [[nodiscard]] answers failed(batch_fault why);

  /// Ends the patience of callers whose time has come. What was not sent is withdrawn and answered
  /// `unavailable`; what was sent stays, its caller is answered `in_doubt`, and a claim that turns
  /// out to be won is released at once.
  [[nodiscard]] answers expire(steady_time now);
  /// When `expire` has something to do next; `steady_time::max()`: never.
  steady_time next_expiry() const;

  /// Gives up everything. Pre: no batch is on its way.
  [[nodiscard]] answers abandon();

 private:
  using queue = std::list<operation>;
  struct index_hash {
    std::size_t operator()(const identity::index_type& of) const noexcept;
  };

  bool queue_is_full(std::size_t bytes) const noexcept;
  queue& queue_of(const operation& one) noexcept;
  void enqueue(call what, std::unique_ptr<caller> who, steady_time patience_ends);
  bool take_from(queue& waiting);
  void settle(operation& sent, outcome what, answers& into);
  void split();
  void put_back();

  limits within_;
  queue writes_;
  queue claims_;
  std::size_t queued_bytes_ = 0;  // Of `writes_` and `claims_`.
  std::list<queue> again_;        // Halves and batches in doubt: sent before anything new.
  queue sent_;
  std::size_t sent_bytes_ = 0;
  std::unordered_set<identity::index_type, index_hash> sent_keys_;
};

}  // namespace callonce::group_commit
