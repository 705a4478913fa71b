#include <algorithm>

#include <callonce/engine/runs.hpp>

// Where applications complete records in their own transactions: what the record says counts, and
// not what the application has said or failed to say.
namespace callonce {

using namespace std::chrono_literals;

// Nothing is written for this answer, so nothing has told us what the record holds by now.
asio::awaitable<void> engine::state::keep_claim(run& self, answer given) {
  const bool known = co_await publish_read_back(self);
  if (known) co_return;
  report(fact_kind::kept, self, given.head.status());
  publish(self, std::move(given));
}

// Post: whether the record had the answer.
asio::awaitable<bool> engine::state::publish_read_back(run& self) {
  std::optional<answer> found = co_await read_back(self);
  if (!found) co_return false;
  self.first = std::move(found);
  self.publish();
  co_return true;
}

// Where applications complete records themselves, the true answer may be there although none came,
// or be on its way in a transaction that still holds the row. Asked by a write, for a read proves
// nothing: a renewal says "lost" with the record, "busy", or that nothing has happened yet.
asio::awaitable<std::optional<answer>> engine::state::read_back(run& self) {
  if (!store_.traits().co_commit) co_return std::nullopt;
  const fence by = self.fenced_by();
  const policy_settings& is = self.by->settings();
  // Elsewhere the application hardly ever does: one look, and no client waits for more.
  const bool expected = is.effects == effect_class::atomic;
  const steady_time until = env_.now() + (expected ? is.readback : 0ms);
  std::chrono::milliseconds pause = first_pause;
  for (;;) {
    const result<write_reply> reply = co_await store_.renew(by);
    if (!reply) report_fault(self, reply.error());
    if (reply && reply->verdict == write_verdict::lease_lost) {
      co_return read_back_answer(self, *reply);
    }
    const bool busy = reply && reply->verdict == write_verdict::busy;
    if (reply && !busy) self.trust(reply->sent_at);
    const steady_time end = busy && expected ? std::max(until, self.lease_until) : until;
    if (env_.now() + pause > end) co_return std::nullopt;
    co_await detail::sleep_until(env_, env_.now() + pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

// Only an answer of this very request: whoever has the key by now may have asked for something
// else.
std::optional<answer> engine::state::read_back_answer(run& self, const write_reply& refused) {
  const bool ours = refused.current && refused.current->state == record_state::completed &&
                    refused.current->fingerprint == self.asks;
  if (!ours) return std::nullopt;
  const record& found = *refused.current;
  const bool own = found.claim_id == self.reply->current.claim_id;
  report(own ? fact_kind::co_committed : fact_kind::lease_lost, self);
  if (found.answer && found.answer->omitted == body_omitted::none) self.stored = found.answer;
  return stored_for_first(self, found);
}

// The application's commit decides, and nobody can read now how it has decided: no success may be
// said. A retry will be told.
asio::awaitable<void> engine::state::leave_to_application(run& self, const write& completion) {
  problem why{problem_code::store_unavailable};
  why.record_id = self.id.record_id();
  report_refusal(*self.by, &self.id, why);
  report(fact_kind::kept, self, 0);
  publish(self, to_response(why, self.by->settings().problems));
  const result<write_reply> reply =
      co_await insist(self, completion, env_.now() + self.by->settings().detached_max);
  if (reply) report(fact_kind::completed, self, 0);
}

}  // namespace callonce
