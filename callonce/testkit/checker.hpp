#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <callonce/engine/claim.hpp>
#include <callonce/engine/observer.hpp>
#include <callonce/engine/store.hpp>
#include <callonce/testkit/world.hpp>

namespace callonce::testkit {

/// What the checker is told of one run of a handler; it goes when nothing of the run is left.
class run_mark;

/// One request of a client, as the checker knows it.
struct asked {
  std::uint64_t number = 0;  ///< Unique; the request carries it as `X-Exchange`.
  identity id;
  fingerprint wants;
  world_time at{};
};

/// The invariants of the guarantee, stated once and judged over a whole history: what the store
/// decided, in the order in which it did; what handlers began and ended; what clients were told.
///
///  - a completed answer never changes, and every replay equals it byte for byte (I5, I10)
///  - while leases hold, runs of one key never overlap; a run begins only under its own live lease
///  - a live owner keeps its lease for as long as its run goes on
///  - a claim is released only when its run has surely ended (I13), and completed only by its owner
///  - a mismatch never executes and never sees the other's answer; scopes never see each other
///  - no client sees a made-up success: each answer is a run's own, and it is durable before it is
///    sent, unless it says otherwise (I9)
///  - `Idempotent-Replayed` is present exactly when another request's claim completed the record
///  - an effect that commits with its completion happens once (I7)
///  - a claim that a live node has won is run or released, and the final answer of its run
///    is recorded, however late it comes (D-41)
class checker {
 public:
  /// `store_now` reads the store's own clocks.
  checker(const world& in, std::function<moment()> store_now);
  ~checker();
  checker(const checker&) = delete;
  checker& operator=(const checker&) = delete;

  /// The store as it is seen by `sender`, with every answer written down and judged.
  /// With `with_effect` each completion commits an effect together with it.
  /// Post: valid as long as the checker.
  store& watch(store& inner, unsigned sender, bool with_effect = false);
  /// An observer that writes down what the engine of `sender` reports.
  observer& facts_of(unsigned sender);

  /// A handler begins. Post: the run counts as going on until the mark is destroyed.
  std::shared_ptr<run_mark> begins(unsigned sender, const claim& won, std::uint64_t exchange);
  /// A client was answered; `whole` is false when the body was cut off.
  void told(const asked& by, const response& answer, bool whole);
  /// The history is over, faults have stopped and time has passed: what is left is for ever.
  /// `clean(sender)`: it has neither crashed nor been paused, and nothing it sent came late.
  void ends(const std::function<bool(unsigned)>& clean);
  /// From now on whoever is `steady(sender)` is expected to keep the leases of its runs: it lives,
  /// it was never paused, and its store answers every request soon.
  void expect_kept(std::function<bool(unsigned)> steady) { steady_ = std::move(steady); }

  /// How often engines have reported this.
  std::uint64_t reported(fact_kind kind) const {
    const auto found = reported_.find(kind);
    return found == reported_.end() ? 0 : found->second;
  }

  /// A rule was broken; for rules that only the caller can judge.
  void broken(const identity* about, std::string rule);
  bool failed() const noexcept { return !broken_.empty(); }
  const std::vector<std::string>& all_broken() const noexcept { return broken_; }

  /// Keeps a readable history; costs time, so a failing seed is simply run again with it.
  void keep_history() noexcept { keeps_history_ = true; }
  const std::deque<std::string>& history() const noexcept { return history_; }
  template <class Text>
  void trace(Text text) {
    if (keeps_history_) add_line(text());
  }
  std::string name_of(const identity& id) const;

 private:
  friend class run_mark;
  class witness;
  class listener;

  struct claim_note {
    callonce::claim_id id{};
    std::uint32_t attempt = 0;
    callonce::fingerprint asks;
    unsigned sender = 0;
    std::chrono::milliseconds lease{};
    instant lease_until{};
    bool settlement = false;
    bool settled = false;  ///< An operator has decided while it was the current one.
    bool released = false;
    bool completed = false;   ///< What its run still sends is a copy for one client.
    run_mark* run = nullptr;  ///< While it goes on.
    bool started = false;
    bool abandoned = false;  ///< Its engine has said that it no longer keeps the lease.
    bool uncertain = false;  ///< Its run has ended without a certain outcome.
    int effects = 0;
  };
  struct frozen_note {
    std::shared_ptr<const stored_answer> answer;
    callonce::claim_id by{};
    world_time until = world_time::max();  ///< When the record began a new life.
  };
  struct run_note {
    identity id;
    callonce::fingerprint asks;
    callonce::claim_id by{};
    std::uint64_t exchange = 0;
    unsigned sender = 0;
    int status = 0;
    std::string body;
    bool final = false;
    int failure = 0;
  };
  // Everything about one (scope, key).
  struct dossier {
    std::string name;
    std::vector<claim_note> claims;
    std::vector<frozen_note> frozen;
    record_state state = record_state::released;
    instant expires_at{};
    bool was_parked = false;
    claim_note* find(const fence& by);
    bool is_current(const fence& by) const;
    frozen_note* current_answer();
  };

  dossier& about(const identity& id);
  void add_line(std::string line);

  void claim_won(unsigned sender, const claim_request& wish, const claim_reply& reply);
  void claim_judged(unsigned sender, const claim_request& wish, const result<claim_reply>& reply);
  void renewed(const fence& by, const write_reply& reply);
  void completed(const fence& by, const std::shared_ptr<const stored_answer>& answer,
                 const write_reply& reply, bool with_effect);
  void released(const fence& by, const write_reply& reply);
  void parked(const fence& by, const write_reply& reply);
  void settled(const settlement& by, const write_reply& reply);
  void seen(const record& found);
  void purged();
  void freeze(dossier& of, const callonce::claim_id& by,
              const std::shared_ptr<const stored_answer>& answer);

  void told_answer(const asked& by, const response& answer, const run_note& run, bool whole);
  void told_replay(const asked& by, const response& answer);
  void told_problem(const asked& by, const response& answer);

  const world& world_;
  const std::function<moment()> store_now_;
  std::function<bool(unsigned)> steady_;
  std::vector<std::unique_ptr<witness>> witnesses_;
  std::vector<std::unique_ptr<listener>> listeners_;
  std::unordered_map<identity, dossier, identity_hash> dossiers_;
  instant purged_to_{};  ///< What had expired by then may be gone.
  std::vector<run_note> runs_;
  std::map<fact_kind, std::uint64_t> reported_;
  std::vector<std::string> broken_;
  bool keeps_history_ = false;
  std::deque<std::string> history_;
};

/// One run as the checker sees it, from the handler's start to its end.
class run_mark {
 public:
  run_mark(checker& tells, std::size_t number, fence by)
      : tells_(tells), number_(number), by_(std::move(by)) {}
  ~run_mark();
  run_mark(const run_mark&) = delete;
  run_mark& operator=(const run_mark&) = delete;

  /// Numbers the run; its answer carries it as `X-Run`.
  std::size_t number() const noexcept { return number_; }
  /// The whole answer that the run is about to give; `final` when it must be frozen.
  void answers(int status, std::string body, bool final);
  /// It reports this failure although its transaction has completed the record: a client may hear
  /// so only where the store could not be asked.
  void fails_after_commit(int status);
  /// The run ends without a certain outcome: its claim must stay.
  void ends_uncertain();

 private:
  checker& tells_;
  const std::size_t number_;
  const fence by_;
};

}  // namespace callonce::testkit
