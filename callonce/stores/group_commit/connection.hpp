#pragma once

#include <span>
#include <vector>

#include <boost/system/result.hpp>

#include <callonce/stores/group_commit/plan.hpp>

namespace callonce::group_commit {

/// One blocking connection to a database, as a lane uses it.
/// Threads: one, the lane's.
class connection {
 public:
  using results = boost::system::result<std::vector<outcome>, batch_fault>;

  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection() = default;

  /// Applies a batch as one transaction, each operation by its rule of core/transition. Reads
  /// `what` and `repeated` of an operation, nothing else. `sent_at` of the replies is read just
  /// before the store could stamp a lease.
  /// Post: one outcome for each operation, in order, only after COMMIT was answered.
  /// Errors: see `batch_fault`. An outcome that is a fault belongs to its operation alone.
  virtual results apply(std::span<const operation* const> batch) = 0;

  /// Called after `not_applied` and `in_doubt`: makes the connection usable, by a new one if need
  /// be. Post: false, when it has to be called again later.
  virtual bool recover() = 0;
};

}  // namespace callonce::group_commit
