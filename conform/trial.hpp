#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <conform/http/message.hpp>
#include <conform/nodes.hpp>

namespace conform {

using namespace std::chrono_literals;

/// What all rows of one tester run share: programs, a directory, the effect application, two
/// gateways.
struct fixture {
  std::filesystem::path callonce;
  std::filesystem::path directory;
  std::uint16_t app = 0;
  std::unique_ptr<node> n1;  ///< n1 and n2 have one store; no row stops them
  std::unique_ptr<node> n2;
  std::filesystem::path new_store;  ///< see run_options
  bool deep = false;                ///< the long form of the rows that have one
  std::atomic<int> made{0};         ///< nodes that rows have made for themselves
};

/// The URL of a store that `PROGRAM NAME` makes; empty without a program.
/// Errors: throws std::runtime_error.
std::string make_store(const fixture& shared, const std::string& name);

/// One key of one tenant, and the name under which the effect application counts its runs.
struct subject {
  std::string name;
  std::string tenant;
  std::string key;  ///< as the header's value: quoted
};

/// One row of the effect log.
struct run_row {
  std::string key;
  std::string attempt;
  fields headers;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;  ///< 0 while it runs
  int status = 0;
};

/// Ends a row as skipped, with the reason.
struct skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One row being run: what it may do, and what it has found wrong.
///
/// Threads: any.
class trial {
 public:
  explicit trial(fixture& shared) : shared_(shared) {}

  // Subjects and requests.

  /// A tenant, a key and a case that nobody used before.
  subject fresh();
  /// The same tenant and case under another key, given as the header's value.
  static subject with_key(subject one, std::string header_value);
  /// POST to `path` with the subject's tenant and key, `step` as the body.
  static request post(const subject& one, std::string_view path = "/e",
                      std::string step = "{\"do\":\"ok\"}");

  // The gateways.

  reply send(const request& one) { return send(one, n1()); }
  static reply send(const request& one, const node& at) { return exchange(at.port(), one); }
  /// Sends in the background; the answer comes in the future.
  static std::future<reply> start(request one, const node& at);
  std::future<reply> start(request one) { return start(std::move(one), n1()); }
  /// Sends again while the answer is a 409, at most for `patience`.
  static reply send_until_settled(const request& one, const node& at, steady::duration patience);
  node& n1() { return *shared_.n1; }
  node& n2() { return *shared_.n2; }
  /// A started gateway of this row's own. Errors: throws std::runtime_error.
  std::unique_ptr<node> own_node(const node_options& options);
  /// A store that only this row's gateways use, and the effect application as upstream.
  node_options own_options();
  /// Ends the row as skipped where the store is not a file of the gateway's.
  void needs_file_store() const;
  std::uint16_t app() const { return shared_.app; }
  bool deep() const { return shared_.deep; }

  // The effect application.

  /// The answers of the case's next runs, as a JSON array of steps.
  void script(const subject& one, std::string_view steps);
  /// Lets the case's runs up to this ordinal pass their gate.
  void open_gate(const subject& one, int ordinal);
  /// The case's rows, once `starts` runs began and `ends` ended, or after ten seconds.
  std::vector<run_row> runs(const subject& one, std::size_t starts = 0, std::size_t ends = 0);
  /// The same as an expectation; true when it was met.
  bool await_runs(const subject& one, std::size_t starts, std::size_t ends = 0);

  // Expectations: each says what was expected and seen when it is not met.

  bool expect(bool met, std::string_view what);
  /// A whole answer with this status, made by the run this request caused.
  bool first(const reply& seen, int status);
  /// A whole replay with this status.
  bool replayed(const reply& seen, int status);
  /// Both, for a replay of `original`: status, body, Location, Content-Type.
  bool replay_of(const reply& seen, const reply& original);
  /// A problem of the gateway in its documented form.
  bool problem(const reply& seen, int status, std::string_view code);
  /// The case has run so many times.
  bool ran(const subject& one, std::size_t times);

  /// The first few expectations that were not met; empty when the row passes.
  std::string failures() const;

 private:
  void check_problem(const reply& seen, std::string_view code, std::string& wrong);

  fixture& shared_;
  mutable std::mutex mutex_;
  std::vector<std::string> failures_;
};

/// A member of a JSON object as text: strings unquoted, the rest as JSON; empty when there is none
/// or null.
std::string json_member(const std::string& object, std::string_view name);

/// Status, mark, code and body of an answer in one line.
std::string shown(const reply& one);

/// Runs `work(0)` to `work(count - 1)`, each on its own thread, and joins them.
void in_parallel(int count, const std::function<void(int)>& work);

/// The answers to `count` requests that are all written at one moment, by turns to each node.
std::vector<reply> simultaneously(const request& one, int count,
                                  const std::vector<const node*>& nodes);

}  // namespace conform
