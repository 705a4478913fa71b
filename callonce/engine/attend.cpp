#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include <callonce/core/replay.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// A duplicate of another process's run asks the store at growing intervals, fewer than ten times in
// any sensible wait (C13).
constexpr std::chrono::milliseconds first_poll = 25ms;
constexpr std::chrono::milliseconds longest_poll = 1s;

// C24: whole seconds, at least one, at most what is left of the lease, and never a sleepy client.
std::chrono::seconds retry_after(std::chrono::milliseconds elapsed,
                                 std::chrono::milliseconds lease_left) {
  const auto wait = std::chrono::ceil<std::chrono::seconds>(std::min(elapsed, lease_left));
  return std::clamp<std::chrono::seconds>(wait, 1s, 30s);
}

problem about(problem_code code, const identity& id) {
  problem made{code};
  made.record_id = id.record_id();
  return made;
}

problem unavailable(const identity& id, const stored_answer* stored) {
  problem made = about(problem_code::response_unavailable, id);
  if (stored == nullptr) return made;
  made.original_status = stored->status;
  made.resource = stored->resource;
  if (const std::string* location = stored->headers.find("Location")) made.location = *location;
  return made;
}

// Holds a wait slot for as long as it lives.
class wait_slot {
 public:
  explicit wait_slot(std::size_t& count) : count_(count) { ++count_; }
  ~wait_slot() { --count_; }
  wait_slot(const wait_slot&) = delete;
  wait_slot& operator=(const wait_slot&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace

// One request on its way: it begins a run or joins one, and goes round again when the answer it
// hoped for did not come about.
class attendance {
 public:
  attendance(engine::state& shared, std::shared_ptr<const policy> by,
             std::shared_ptr<const handler> work, identity as, request asked, std::stop_token left,
             bool bounded)
      : shared_(shared),
        by_(std::move(by)),
        work_(std::move(work)),
        id_(std::move(as)),
        asked_(std::make_shared<const request>(std::move(asked))),
        asks_(*fingerprint_of(*asked_, fingerprint_rule::raw_v1)),
        left_(std::move(left)),
        bounded_(bounded),
        patience_end_(shared_.env_.now() + by_->settings().wait) {}

  asio::awaitable<answer> to_the_end() {
    on_ = co_await asio::this_coro::executor;
    std::optional<answer> got;
    while (!got) {
      const std::shared_ptr<run> current = shared_.find(id_);
      if (current && answers_for_store(*current)) {
        got = co_await join(*current);
      } else if (shared_.draining_) {
        got = refuse(about(problem_code::draining, id_));
      } else if (shared_.detached_ >= shared_.limits_.detached_slots) {
        got = refuse(about(problem_code::overloaded, id_));
      } else {
        got = co_await lead(
            shared_.begin(on_, std::make_shared<run>(id_, asks_, by_, work_, asked_)));
      }
    }
    co_return std::move(*got);
  }

 private:
  // While a claim is in flight, while trust lasts, and while a true answer is only in memory.
  bool answers_for_store(const run& current) const {
    const steady_time now = shared_.env_.now();
    if (current.finished) return now < current.forget_at;
    return !current.decided.has_fired() || current.stored || current.trusted(now);
  }

  answer refuse(const problem& why) const {
    shared_.report_refusal(*by_, &id_, why);
    return to_response(why, by_->settings().problem_base);
  }

  answer refuse_store() const { return refuse(about(problem_code::store_unavailable, id_)); }

  answer refuse_mismatch(bool completed) const {
    problem why = about(problem_code::key_reused, id_);
    why.status = by_->settings().on_mismatch;
    why.original_state = completed ? "completed" : "in_progress";
    return refuse(why);
  }

  answer refuse_in_progress(std::chrono::seconds wait) const {
    problem why = about(problem_code::in_progress, id_);
    why.status = by_->settings().on_in_progress;
    why.retry_after = wait;
    return refuse(why);
  }

  answer replay(const stored_answer& stored, bool recorded) const {
    shared_.report(fact_kind::replayed, *by_, &id_, stored.status);
    response made = thaw(stored, /*mark=*/true);
    if (!recorded) made.headers().add("Idempotency-Recorded", "?0");
    return made;
  }

  // The request that began the run.
  asio::awaitable<std::optional<answer>> lead(std::shared_ptr<run> own) {
    co_await own->decided.wait(shared_.env_, steady_time::max());
    if (!own->reply) co_return refuse_store();
    if (!own->won()) co_return co_await take_refusal(*own->reply);

    const steady_time deadline =
        bounded_ ? own->won_at + by_->settings().timeout : steady_time::max();
    const auto end = co_await own->published.wait(shared_.env_, deadline, left_);
    if (end == detail::event::end::left) {
      // A client that only closed its sending side still reads: the answer is kept for it.
      shared_.detach(own, on_);
      co_await own->published.wait(shared_.env_, deadline);
    }
    // An answer that comes at the very moment of the deadline is waited for by nobody else.
    if (!own->published.has_fired()) {
      own->awaited = false;
      shared_.detach(own, on_);
      problem why = about(problem_code::upstream_timeout, id_);
      why.retry_after = lease_wait(*own);
      co_return refuse(why);
    }
    co_return std::move(own->first);
  }

  // A duplicate in the same process as the run.
  asio::awaitable<std::optional<answer>> join(run& current) {
    const std::shared_ptr<run> alive = current.shared_from_this();
    current.duplicated = true;
    co_await current.decided.wait(shared_.env_, steady_time::max());
    if (!current.reply) co_return refuse_store();
    if (!current.won()) {
      const claim_reply& reply = *current.reply;
      // Judged by my own fingerprint; what the other one was refused for says nothing about me.
      if (reply.current.fingerprint == asks_) {
        if (reply.verdict == claim_verdict::mismatch) co_return std::nullopt;
        co_return co_await take_refusal(reply);
      }
      co_return differs(reply.current);
    }
    // What this process knows of the record counts while others cannot have changed it.
    if (!answers_for_store(current)) co_return std::nullopt;
    if (current.asks != asks_) co_return refuse_mismatch(current.stored != nullptr);
    if (current.stored) co_return from_memory(current);
    if (current.finished) co_return std::nullopt;

    if (may_wait()) {
      const wait_slot held{shared_.waiters_};
      const auto end = co_await current.settled.wait(shared_.env_, patience_end_, left_);
      if (end == detail::event::end::fired) co_return std::nullopt;
    }
    co_return refuse_in_progress(lease_wait(current));
  }

  answer from_memory(const run& current) const {
    if (current.stored->omitted != body_omitted::none) {
      // Nothing may be called completed that is not: a crash would undo it.
      if (current.unrecorded) return refuse_in_progress(lease_wait(current));
      return refuse(unavailable(id_, current.stored.get()));
    }
    return replay(*current.stored, !current.unrecorded);
  }

  // What the store answered instead of the claim; nothing: ask again.
  asio::awaitable<std::optional<answer>> take_refusal(const claim_reply& reply) {
    switch (reply.verdict) {
      case claim_verdict::claimed:
        co_return std::nullopt;
      case claim_verdict::busy:
        co_return refuse_store();
      case claim_verdict::mismatch:
      case claim_verdict::other_rule:
        co_return differs(reply.current);
      case claim_verdict::outcome_unknown:
        co_return refuse(about(problem_code::outcome_unknown, id_));
      case claim_verdict::completed:
        co_return from_record(reply);
      case claim_verdict::in_progress:
        break;
    }
    if (may_wait()) {
      const wait_slot held{shared_.waiters_};
      const steady_time next = std::min(patience_end_, shared_.env_.now() + poll_);
      poll_ = std::min(poll_ * 2, longest_poll);
      detail::event never;
      const auto end = co_await never.wait(shared_.env_, next, left_);
      if (end == detail::event::end::deadline) co_return std::nullopt;
    }
    const record& found = reply.current;
    const auto left = found.lease_until - reply.judged_at.lease;
    co_return refuse_in_progress(retry_after(found.terms.lease - left, left));
  }

  // Another fingerprint, or one made by another rule: then by that rule, if this build knows it.
  std::optional<answer> differs(const record& found) {
    if (found.fingerprint.rule != asks_.rule) {
      if (const auto by_that_rule = fingerprint_of(*asked_, found.fingerprint.rule)) {
        asks_ = *by_that_rule;
        return std::nullopt;
      }
    }
    return refuse_mismatch(found.state == record_state::completed);
  }

  answer from_record(const claim_reply& reply) const {
    const stored_answer* stored = reply.current.answer.get();
    if (stored == nullptr) shared_.report(fact_kind::corrupt, *by_, &id_);
    if (stored == nullptr || !body_available(reply.current, reply.judged_at.wall)) {
      return refuse(unavailable(id_, stored));
    }
    return replay(*stored, /*recorded=*/true);
  }

  bool may_wait() const {
    return shared_.env_.now() < patience_end_ && shared_.waiters_ < shared_.limits_.wait_slots &&
           !left_.stop_requested();
  }

  std::chrono::seconds lease_wait(const run& current) const {
    const steady_time now = shared_.env_.now();
    using std::chrono::duration_cast;
    return retry_after(duration_cast<std::chrono::milliseconds>(now - current.won_at),
                       duration_cast<std::chrono::milliseconds>(current.lease_until - now));
  }

  engine::state& shared_;
  const std::shared_ptr<const policy> by_;
  const std::shared_ptr<const handler> work_;
  const identity id_;
  const std::shared_ptr<const request> asked_;
  fingerprint asks_;
  const std::stop_token left_;
  const bool bounded_;
  const steady_time patience_end_;
  std::chrono::milliseconds poll_ = first_poll;
  asio::any_io_executor on_;
};

asio::awaitable<answer> engine::state::attend(std::shared_ptr<const policy> by,
                                              std::shared_ptr<const handler> work, identity as,
                                              request asked, std::stop_token left, bool bounded) {
  const std::shared_ptr<state> alive = shared_from_this();
  attendance one{*this,           std::move(by), std::move(work), std::move(as), std::move(asked),
                 std::move(left), bounded};
  co_return co_await one.to_the_end();
}

}  // namespace callonce
