#include <boost/asio/this_coro.hpp>

#include <callonce/core/replay.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {

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

asio::awaitable<bool> engine::state::win(run& self) {
  claim_request wish;
  wish.id = self.id;
  wish.fingerprint = self.asks;
  wish.claim_id = new_claim_id(env_);
  wish.terms = self.by->terms();
  self.reply = co_await store_.claim(wish);

  const bool won = self.reply && self.reply->verdict == claim_verdict::claimed;
  if (won) {
    self.won_at = env_.now();
    self.trust(self.reply->sent_at);
    report(fact_kind::claimed, self);
  } else {
    if (!self.reply) report_fault(self, self.reply.error());
    unlist(self.shared_from_this());
  }
  self.decided.fire();
  co_return won;
}

// A claim that waited long for its answer may be near its end: half of the lease must be left when
// the first byte of work is done.
asio::awaitable<bool> engine::state::make_sure_of_lease(run& self) {
  const auto half = self.by->settings().lease / 2;
  const auto enough = [&] { return self.trusted_until - env_.now() >= half; };
  if (enough()) co_return true;

  const fence by = self.fenced_by();
  const result<write_reply> reply = co_await store_.renew(by);
  if (reply && reply->verdict == write_verdict::lease_lost) {
    publish_refused(self, *reply);
    co_return false;
  }
  if (reply) self.trust(reply->sent_at);
  if (reply && enough()) co_return true;

  if (!reply) report_fault(self, reply.error());
  problem why{problem_code::store_unavailable};
  why.record_id = self.id.record_id();
  report_refusal(*self.by, &self.id, why);
  publish(self, to_response(why, self.by->settings().problem_base));
  co_await release_record(self, self.by->settings().released_retention,
                          env_.now() + self.by->settings().detached_max);
  co_return false;
}

// Nothing: the handler threw.
asio::awaitable<std::optional<outcome>> engine::state::work_on(run& self) {
  claim won{self.fenced_by(), self.lost.get_token()};
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
