#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <utility>

#include <callonce/engine/engine.hpp>
#include <callonce/engine/event.hpp>

namespace callonce {

class engine_thread;

/// An operation of the store that failed or was refused as busy is asked again soon, then ever more
/// seldom.
inline constexpr std::chrono::milliseconds first_pause{5};
inline constexpr std::chrono::milliseconds longest_pause{1000};

/// Claim, handler, keeper, judgement and completion of one attempt. Requests attach to it and leave
/// it by answer, by their own deadline or by hanging up; none of that touches the run.
class run : public std::enable_shared_from_this<run> {
 public:
  run(identity of, fingerprint asked_for, std::shared_ptr<const policy> under,
      std::shared_ptr<const handler> does, std::shared_ptr<const request> what)
      : id(std::move(of)),
        asks(std::move(asked_for)),
        by(std::move(under)),
        work(std::move(does)),
        asked(std::move(what)) {}

  bool won() const {
    return decided.has_fired() && reply.has_value() && reply->verdict == claim_verdict::claimed;
  }
  fence fenced_by() const { return {id, reply->current.claim_id, reply->current.attempt}; }
  /// While true, no one else can have won: this process may say "in progress" without asking the
  /// store.
  bool trusted(steady_time now) const { return now < trusted_until; }

  /// Takes the claim's or a renewal's word: the lease counts from before it was sent, less a tenth.
  void trust(steady_time sent_at) {
    lease_until = sent_at + by->settings().lease;
    trusted_until = lease_until - by->settings().lease / 10;
  }

  const identity id;
  const fingerprint asks;
  const std::shared_ptr<const policy> by;
  const std::shared_ptr<const handler> work;
  std::shared_ptr<const request> asked;  ///< Until the run has finished.

  detail::event decided;  ///< The store has answered the claim: `reply` is set.
  result<claim_reply> reply = errc::unavailable;
  steady_time won_at{};
  steady_time lease_until{};
  steady_time trusted_until{};

  /// `first` may be taken: nothing more will change it.
  void publish() {
    published.fire();
    stir();
  }
  void stir() {
    if (const auto waiting = std::exchange(stirred, nullptr)) waiting->fire();
  }
  /// Keeps an interim answer for the client of this run, while it waits.
  void tell(response interim) {
    // Hints are few; a handler that sends more is not believed.
    constexpr std::size_t waiting_max = 8;
    if (!awaited || published.has_fired() || interims.size() >= waiting_max) return;
    interims.push_back(std::move(interim));
    stir();
  }

  detail::event published;
  std::deque<response> interims;           ///< Not yet passed on.
  std::shared_ptr<detail::event> stirred;  ///< Where the client waits for interims too.
  std::optional<answer> first;             ///< For the request that began the run.
  bool awaited = true;                     ///< That request will still take it.
  detail::event settled;  ///< Others may be answered: by `stored`, or by asking the store.
  std::shared_ptr<const stored_answer> stored;   ///< The frozen answer, where there is one.
  bool unrecorded = false;                       ///< `stored` is true, but not durable yet.
  steady_time recorded_at = steady_time::min();  ///< Before its completion was sent.
  bool duplicated = false;  ///< Others have asked for the same: more of them may come.
  bool finished = false;    ///< Nothing more happens here.
  steady_time forget_at{};

  std::stop_source lost;
  bool detached = false;
  bool kept = true;  ///< The keeper renews.
  bool told_trust_over = false;
  bool taken_over = false;  ///< A renewal was refused: another claim has won.
  std::unique_ptr<alarm> next_renewal;
  std::unique_ptr<alarm> detached_end;
};

/// What a request asks for: a route's parts, shared with the runs that outlive the request.
struct attended {
  attended(std::shared_ptr<const policy> under, std::shared_ptr<const handler> does,
           std::shared_ptr<const replay_check> before_replay, bool in_time)
      : by(std::move(under)),
        work(std::move(does)),
        check(std::move(before_replay)),
        bounded(in_time) {}

  std::shared_ptr<const policy> by;
  std::shared_ptr<const handler> work;
  std::shared_ptr<const replay_check> check;  ///< Null: replays are given to all in the scope.
  bool bounded = true;                        ///< Answered at the route's timeout at the latest.
};

/// What all routes of an engine share: the table of runs and how requests attach to them.
class engine::state : public std::enable_shared_from_this<engine::state> {
 public:
  state(store& over, environment& in, observer* tell, engine_limits limits)
      : store_(over), env_(in), observer_(tell), limits_(limits) {}

  environment& env() noexcept { return env_; }

  /// One request, from its claim to its answer.
  asio::awaitable<answer> attend(attended of, identity as, request asked, client_side client);
  /// One request that nothing protects.
  asio::awaitable<answer> run_unclaimed(const policy& by, const handler& work,
                                        const request& asked);

  void drain() { draining_ = true; }
  asio::awaitable<bool> drained(steady_time deadline);

  void report(fact_kind kind, const run& about, int status = 0) const;
  void report(fact_kind kind, const policy& by, const identity* id, int status = 0) const;
  void report_refusal(const policy& by, const identity* id, const problem& why) const;
  void report_fault(const run& about, boost::system::error_code fault) const;

  /// blocking.cpp: the thread that blocking routes share, started by the first of them.
  std::shared_ptr<engine_thread> own_thread();

  std::size_t runs() const noexcept { return live_; }
  std::size_t waiters() const noexcept { return waiters_; }
  std::size_t detached() const noexcept { return detached_; }

 private:
  friend class attendance;

  // runs.cpp: the table.
  std::shared_ptr<run> find(const identity& id);
  std::shared_ptr<run> begin(const asio::any_io_executor& on, std::shared_ptr<run> made);
  void unlist(const std::shared_ptr<run>& ended);
  void remember(const std::shared_ptr<run>& ended, steady_time until);
  void forget_old();
  void finish(const std::shared_ptr<run>& self);
  void detach(const std::shared_ptr<run>& self, const asio::any_io_executor& on);

  // execute.cpp: the run itself, one linear coroutine.
  asio::awaitable<void> execute(std::shared_ptr<run> self);
  asio::awaitable<result<claim_reply>> ask(run& self, const claim_request& wish, steady_time until,
                                           bool in_doubt);
  asio::awaitable<bool> win(run& self);
  asio::awaitable<void> give_back(run& self, const claim_request& wish);
  asio::awaitable<bool> make_sure_of_lease(run& self);
  asio::awaitable<std::optional<outcome>> work_on(run& self);
  asio::awaitable<void> conclude(run& self, std::optional<outcome> ended);

  // conclude.cpp: what becomes of the record, and only then of the client.
  using write = std::function<asio::awaitable<result<write_reply>>()>;
  asio::awaitable<void> conclude_answer(run& self, answer given);
  asio::awaitable<void> conclude_taken_over(run& self);
  asio::awaitable<void> conclude_failure(run& self);
  asio::awaitable<void> conclude_indeterminate(run& self, response said);
  asio::awaitable<void> keep_claim(run& self, answer given);
  asio::awaitable<bool> publish_read_back(run& self);
  asio::awaitable<void> complete(run& self, answer given,
                                 std::shared_ptr<const stored_answer> frozen);
  void report_completed(run& self, const write_reply& reply) const;
  asio::awaitable<void> leave_to_application(run& self, const write& completion);
  asio::awaitable<void> keep_recording(run& self, const write& completion);
  asio::awaitable<result<write_reply>> release_record(run& self,
                                                      std::chrono::milliseconds retention,
                                                      steady_time until);
  asio::awaitable<void> release(run& self, response said, std::chrono::milliseconds retention);
  asio::awaitable<void> release_after_last_byte(run& self, answer given,
                                                std::chrono::milliseconds retention);
  asio::awaitable<void> park(run& self, answer given);
  asio::awaitable<result<write_reply>> insist(run& self, const write& attempt, steady_time until);
  asio::awaitable<std::optional<answer>> read_back(run& self);
  std::optional<answer> read_back_answer(run& self, const write_reply& refused);
  void publish(run& self, answer given);
  void publish_refused(run& self, const write_reply& refused);
  void publish_stored(run& self, const record& found);
  answer stored_for_first(run& self, const record& found);
  void note_difference(const run& self, const write_reply& refused, int status,
                       const stored_answer* frozen) const;

  // keeper.cpp: renewals while the run goes on.
  void keep(const std::shared_ptr<run>& self, const asio::any_io_executor& on, steady_time at);
  asio::awaitable<void> renew(std::shared_ptr<run> self);
  static void stop_keeping(run& self);

  store& store_;
  environment& env_;
  observer* observer_;
  engine_limits limits_;

  std::unordered_map<identity, std::shared_ptr<run>, identity_hash> table_;
  std::deque<std::shared_ptr<run>> remembered_;
  std::size_t remembered_bytes_ = 0;
  std::size_t live_ = 0;
  std::size_t waiters_ = 0;
  std::size_t detached_ = 0;
  std::size_t unrecorded_ = 0;
  bool draining_ = false;
  std::shared_ptr<detail::event> emptied_;
  std::mutex thread_mutex_;
  std::shared_ptr<engine_thread> thread_;
};

}  // namespace callonce
