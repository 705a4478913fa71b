#pragma once

// Internal: finding a server that may be used, and connecting to it.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <callonce/stores/postgres/session.hpp>

namespace callonce::postgres::detail {

/// The servers of one store. It knows the newest timeline that any of its connections has seen: a
/// server that was a primary before the last failover is not believed any more, even if it still
/// takes writes.
/// Threads: any.
class place {
 public:
  /// Errors: throws misconfigured.
  place(const std::string& url, environment& in);

  /// A connection to the first server, from the `turn`-th on, that is a primary and safe to use.
  /// Post: null when none can be reached until then; `complaint` says why.
  /// Errors: throws misconfigured for a server that is reached and must not be used.
  std::unique_ptr<session> connect(std::size_t turn, steady_time until, std::string& complaint);
  /// The same, insisting until then.
  /// Errors: throws misconfigured also when no server can be reached.
  std::unique_ptr<session> insist(steady_time until);

  environment& in() const noexcept { return environment_; }
  std::size_t servers() const noexcept { return servers_.size(); }

 private:
  enum class finding { good, elsewhere };
  finding look_at(session& over, steady_time until, std::string& complaint);
  finding look_at_timeline(session& over, steady_time until, std::string& complaint);

  environment& environment_;
  const std::vector<server> servers_;
  std::atomic<std::uint64_t> newest_timeline_{0};
};

/// Refuses a schema that this build was not made for. Errors: throws misconfigured.
void expect_schema(session& over, steady_time until);

}  // namespace callonce::postgres::detail
