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

// `Prefer: wait=N`: a client may wait shorter than the route would, never longer (C-06).
std::chrono::milliseconds patience_of(const request& asked, std::chrono::milliseconds wait) {
  constexpr std::string_view preference = "wait=";
  constexpr std::size_t digits_max = 6;
  for (const field& line : asked.headers()) {
    if (!same_name(line.name, "Prefer")) continue;
    for_each_token(line.value, [&](std::string_view token) {
      if (token.size() <= preference.size() ||
          !same_name(token.substr(0, preference.size()), preference)) {
        return;
      }
      const std::string_view digits = token.substr(preference.size());
      if (digits.size() > digits_max ||
          digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return;
      }
      std::chrono::seconds::rep count = 0;
      for (const char digit : digits) count = count * 10 + (digit - '0');
      wait = std::min<std::chrono::milliseconds>(wait, std::chrono::seconds{count});
    });
  }
  return wait;
}

response answer_of(outcome ended) {
  if (auto* done = std::get_if<committed>(&ended)) return std::move(done->answer);
  if (auto* nothing = std::get_if<not_executed>(&ended)) return std::move(nothing->answer);
  return std::move(std::get<indeterminate>(ended).answer);
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
  attendance(engine::state& shared, attended of, identity as, request asked, client_side client)
      : shared_(shared),
        by_(std::move(of.by)),
        work_(std::move(of.work)),
        check_(std::move(of.check)),
        bounded_(of.bounded),
        id_(std::move(as)),
        asked_(std::make_shared<const request>(std::move(asked))),
        asks_(*print(by_->settings().fingerprint)),
        left_(std::move(client.left)),
        tell_(std::move(client.tell)),
        patience_end_(shared_.env_.now() + patience_of(*asked_, by_->settings().wait)) {}

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
    // Whoever may no longer read the answer gets the application's word instead of it.
    if (reveals_ && check_) {
      std::optional<response> instead = co_await (*check_)(*asked_);
      if (instead) co_return *std::move(instead);
    }
    co_return std::move(*got);
  }

 private:
  std::optional<fingerprint> print(const fingerprint_rule& rule) const {
    return fingerprint_of(*asked_, rule, by_->settings().request_body_max);
  }

  // While a claim is in flight, while trust lasts, and while a true answer is only in memory.
  bool answers_for_store(const run& current) const {
    const steady_time now = shared_.env_.now();
    if (current.finished) return now < current.forget_at;
    return !current.decided.has_fired() || current.stored || current.trusted(now);
  }

  answer refuse(const problem& why) const {
    shared_.report_refusal(*by_, &id_, why);
    return to_response(why, by_->settings().problems);
  }

  // The claim cannot be made durable.
  asio::awaitable<std::optional<answer>> without_store() {
    if (by_->settings().store_down == store_down::fail_open) co_return co_await run_unprotected();
    co_return refuse(about(problem_code::store_unavailable, id_));
  }

  // Nothing is kept, and nobody else is held back: X-02.
  asio::awaitable<std::optional<answer>> run_unprotected() {
    shared_.report(fact_kind::unprotected, *by_, &id_);
    answer given = co_await shared_.run_unclaimed(*by_, *work_, *asked_);
    given.head.headers().add("Idempotency-Unprotected", "?1");
    co_return std::move(given);
  }

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

  answer replay(const stored_answer& stored, bool recorded) {
    reveals_ = true;
    shared_.report(fact_kind::replayed, *by_, &id_, stored.status);
    response made = thaw(stored, /*mark=*/true, by_->settings().replay_headers_drop);
    if (!recorded) made.headers().add("Idempotency-Recorded", "?0");
    return made;
  }

  // The request that began the run.
  asio::awaitable<std::optional<answer>> lead(std::shared_ptr<run> own) {
    co_await own->decided.wait(shared_.env_, steady_time::max());
    if (!own->reply) co_return co_await without_store();
    if (!own->won()) co_return co_await take_refusal(*own->reply);

    const steady_time deadline =
        bounded_ ? own->won_at + by_->settings().timeout : steady_time::max();
    const auto end = co_await await_answer(*own, deadline);
    if (end == detail::event::end::left) {
      // A client that only closed its sending side still reads: the answer is kept for it.
      shared_.detach(own, on_);
      co_await own->published.wait(shared_.env_, deadline);
    }
    // An answer that comes at the very moment of the deadline is waited for by nobody else.
    if (!own->published.has_fired()) {
      own->awaited = false;
      shared_.detach(own, on_);
      std::optional<answer> committed_meanwhile = co_await shared_.read_back(*own);
      if (committed_meanwhile) co_return committed_meanwhile;
      problem why = about(problem_code::upstream_timeout, id_);
      why.retry_after = lease_wait(*own);
      co_return refuse(why);
    }
    co_return std::move(own->first);
  }

  // Waits for the answer, and passes the interim ones on meanwhile.
  asio::awaitable<detail::event::end> await_answer(run& own, steady_time deadline) {
    if (!tell_) co_return co_await own.published.wait(shared_.env_, deadline, left_);
    for (;;) {
      while (!own.interims.empty()) {
        const response interim = std::move(own.interims.front());
        own.interims.pop_front();
        co_await tell_(interim);
      }
      if (own.published.has_fired()) co_return detail::event::end::fired;
      const auto stirred = std::make_shared<detail::event>();
      own.stirred = stirred;
      const auto end = co_await stirred->wait(shared_.env_, deadline, left_);
      if (end == detail::event::end::fired) continue;
      own.stirred.reset();
      co_return end;
    }
  }

  // A duplicate in the same process as the run.
  asio::awaitable<std::optional<answer>> join(run& current) {
    const std::shared_ptr<run> alive = current.shared_from_this();
    current.duplicated = true;
    // Begun under another rule, before a reload or by another route: judged by that one (F-16).
    if (current.asks.rule != asks_.rule) {
      if (const auto by_that_rule = print(current.asks.rule)) asks_ = *by_that_rule;
    }
    co_await current.decided.wait(shared_.env_, steady_time::max());
    if (!current.reply) co_return co_await without_store();
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

  answer from_memory(const run& current) {
    if (current.stored->omitted != body_omitted::none) {
      // Nothing may be called completed that is not: a crash would undo it.
      if (current.unrecorded) return refuse_in_progress(lease_wait(current));
      return refuse_unavailable(current.stored.get());
    }
    return replay(*current.stored, !current.unrecorded);
  }

  // What the store answered instead of the claim; nothing: ask again.
  asio::awaitable<std::optional<answer>> take_refusal(const claim_reply& reply) {
    switch (reply.verdict) {
      case claim_verdict::claimed:
        co_return std::nullopt;
      case claim_verdict::busy:
        co_return co_await without_store();
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
      if (const auto by_that_rule = print(found.fingerprint.rule)) {
        asks_ = *by_that_rule;
        return std::nullopt;
      }
    }
    return refuse_mismatch(found.state == record_state::completed);
  }

  answer refuse_unavailable(const stored_answer* stored) {
    reveals_ = true;
    return refuse(unavailable(id_, stored));
  }

  answer from_record(const claim_reply& reply) {
    const stored_answer* stored = reply.current.answer.get();
    if (stored == nullptr) shared_.report(fact_kind::corrupt, *by_, &id_);
    if (stored == nullptr || !body_available(reply.current, reply.judged_at.wall)) {
      return refuse_unavailable(stored);
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
  const std::shared_ptr<const replay_check> check_;
  const bool bounded_;
  const identity id_;
  const std::shared_ptr<const request> asked_;
  fingerprint asks_;
  const std::stop_token left_;
  const interim_sink tell_;
  const steady_time patience_end_;
  bool reveals_ = false;  // the answer says what another request was answered
  std::chrono::milliseconds poll_ = first_poll;
  asio::any_io_executor on_;
};

asio::awaitable<answer> engine::state::attend(attended of, identity as, request asked,
                                              client_side client) {
  const std::shared_ptr<state> alive = shared_from_this();
  attendance one{*this, std::move(of), std::move(as), std::move(asked), std::move(client)};
  co_return co_await one.to_the_end();
}

// Nothing is claimed: the handler runs once for each request.
asio::awaitable<answer> engine::state::run_unclaimed(const policy& by, const handler& work,
                                                     const request& asked) {
  claim none;
  answer given;
  try {
    outcome ended = co_await work(none, asked);
    if (auto* whole = std::get_if<answer>(&ended)) {
      given = std::move(*whole);
    } else {
      given = answer_of(std::move(ended));
    }
  } catch (...) {
    report(fact_kind::handler_failed, by, nullptr);
    given = to_response(problem{problem_code::internal_error}, by.settings().problems);
  }
  strip_for_client(given.head.headers());
  co_return given;
}

}  // namespace callonce
