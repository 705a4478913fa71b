#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include <callonce/core/replay.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

bool is_own_and_parked(const result<claim_reply>& reply, const claim_request& wish) {
  return reply && reply->verdict == claim_verdict::outcome_unknown &&
         reply->current.claim_id == wish.claim_id;
}

}  // namespace

asio::awaitable<void> engine::state::execute(std::shared_ptr<run> self) {
  const std::shared_ptr<state> alive = shared_from_this();
  bool ours = co_await win(*self);
  if (ours) ours = co_await make_sure_of_lease(*self);
  if (ours) {
    const asio::any_io_executor on = co_await asio::this_coro::executor;
    const auto lease = self->by->settings().lease;
    keep(self, on, self->lease_until - lease / 3);
    report(fact_kind::dispatched, *self);
    std::optional<outcome> ended = co_await work_on(*self);
    co_await conclude(*self, std::move(ended));
  }
  finish(self);
}

// A claim whose acknowledgement was lost may be won: it is asked for again under its own claim_id,
// for only a write proves what happened (D-55). Any other fault is final, unless a doubt stands.
asio::awaitable<result<claim_reply>> engine::state::ask(run& self, const claim_request& wish,
                                                        steady_time until, bool in_doubt) {
  std::chrono::milliseconds pause = first_pause;
  for (;;) {
    result<claim_reply> reply = co_await store_.claim(wish);
    if (!reply) {
      report_fault(self, reply.error());
      in_doubt = in_doubt || reply.error() == errc::in_doubt;
    }
    // Busy is the row of this very claim, held for a moment by somebody's transaction.
    const bool busy = reply && reply->verdict == claim_verdict::busy;
    if (!busy && (reply || !in_doubt)) co_return reply;
    if (env_.now() + pause >= until) co_return errc::in_doubt;
    co_await detail::sleep_until(env_, env_.now() + pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

asio::awaitable<bool> engine::state::win(run& self) {
  claim_request wish;
  wish.id = self.id;
  wish.fingerprint = self.asks;
  wish.terms = self.by->terms();
  wish.attempts_max = self.by->settings().max_attempts;
  const steady_time until = env_.now() + limits_.store_patience;
  bool echo = false;
  do {
    wish.claim_id = new_claim_id(env_);
    self.reply = co_await ask(self, wish, until, false);
    // The store has given a claim back that nobody seemed to wait for: its claim_id is used up.
    echo = self.reply && self.reply->verdict == claim_verdict::in_progress &&
           self.reply->current.claim_id == wish.claim_id;
  } while (echo);
  // Lapsed and parked before it was known to be ours: nobody has to find out what has happened.
  if (is_own_and_parked(self.reply, wish)) self.reply = errc::in_doubt;

  const bool won = self.reply && self.reply->verdict == claim_verdict::claimed;
  if (won) {
    self.won_at = env_.now();
    self.trust(self.reply->sent_at);
    report(fact_kind::claimed, self);
  } else if (!self.reply || self.reply->verdict != claim_verdict::completed) {
    // Whoever waits for this decision may have to ask anew, and must not meet it again.
    unlist(self.shared_from_this());
  }
  self.decided.fire();
  if (!self.reply && self.reply.error() == errc::in_doubt) co_await give_back(self, wish);
  co_return won;
}

// Whoever asked has been told 503, and yet the claim may be won: then nobody may have to wait for
// its lease.
asio::awaitable<void> engine::state::give_back(run& self, const claim_request& wish) {
  const steady_time until = env_.now() + self.by->settings().detached_max;
  const result<claim_reply> reply = co_await ask(self, wish, until, true);
  const bool parked = is_own_and_parked(reply, wish);
  if (!reply || (reply->verdict != claim_verdict::claimed && !parked)) co_return;
  const fence by{self.id, wish.claim_id, reply->current.attempt};
  const auto retention = self.by->settings().released_retention;
  const settlement never_ran{self.id, by.attempt, new_claim_id(env_), nullptr, retention};
  const settle_reason why{"callonce", "its claim was won unknown to its owner, and never run"};
  const write attempt = [&] {
    return parked ? store_.settle(never_ran, why) : store_.release(by, retention);
  };
  const result<write_reply> released = co_await insist(self, attempt, until);
  if (released && released->verdict == write_verdict::done) report(fact_kind::released, self);
}

// A claim that waited long for its answer may be near its end: half of the lease must be left when
// the first byte of work is done.
asio::awaitable<bool> engine::state::make_sure_of_lease(run& self) {
  const auto half = self.by->settings().lease / 2;
  const auto enough = [&] { return self.trusted_until - env_.now() >= half; };
  if (enough()) co_return true;

  const fence by = self.fenced_by();
  // A held row cannot be taken over, but neither was its lease stamped anew: it is asked again.
  const write renewal = [&] { return store_.renew(by); };
  const result<write_reply> reply =
      co_await insist(self, renewal, env_.now() + limits_.store_patience);
  if (reply && reply->verdict == write_verdict::lease_lost) {
    publish_refused(self, *reply);
    co_return false;
  }
  if (reply) self.trust(reply->sent_at);
  if (reply && enough()) co_return true;

  problem why{problem_code::store_unavailable};
  why.record_id = self.id.record_id();
  report_refusal(*self.by, &self.id, why);
  publish(self, to_response(why, self.by->settings().problems));
  co_await release_record(self, self.by->settings().released_retention,
                          env_.now() + self.by->settings().detached_max);
  co_return false;
}

// Nothing: the handler threw.
asio::awaitable<std::optional<outcome>> engine::state::work_on(run& self) {
  claim won{self.fenced_by(), self.by, self.lost.get_token(),
            [&self](response interim) { self.tell(std::move(interim)); }};
  try {
    co_return co_await (*self.work)(won, *self.asked);
  } catch (...) {
    // Whatever it was: the handler has unwound, so nothing of it runs any more.
    report(fact_kind::handler_failed, self);
  }
  co_return std::nullopt;
}

asio::awaitable<void> engine::state::conclude(run& self, std::optional<outcome> ended) {
  if (self.taken_over) {
    co_await conclude_taken_over(self);
  } else if (!ended) {
    co_await conclude_failure(self);
  } else if (auto* given = std::get_if<answer>(&*ended)) {
    report(fact_kind::answered, self, given->head.status());
    co_await conclude_answer(self, std::move(*given));
  } else if (auto* done = std::get_if<committed>(&*ended)) {
    report(fact_kind::co_committed, self, done->answer.status());
    self.stored = std::make_shared<const stored_answer>(
        freeze(done->answer, self.by->settings().replay_headers_drop,
               self.by->settings().response_body_max));
    publish(self, std::move(done->answer));
  } else if (auto* nothing = std::get_if<not_executed>(&*ended)) {
    co_await release(self, std::move(nothing->answer), self.by->settings().released_retention);
  } else if (auto* unknown = std::get_if<indeterminate>(&*ended)) {
    co_await conclude_indeterminate(self, std::move(unknown->answer));
  }
}

}  // namespace callonce
