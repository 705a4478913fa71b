#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// How soon a renewal that failed is tried again: often within one lease, never in a tight loop.
std::chrono::milliseconds retry_after(std::chrono::milliseconds lease) {
  return std::max<std::chrono::milliseconds>(lease / 20, 100ms);
}

}  // namespace

void engine::state::keep(const std::shared_ptr<run>& self, const asio::any_io_executor& on,
                         steady_time at) {
  self->next_renewal =
      env_.call_at(on, at, [this, alive = shared_from_this(), weak = std::weak_ptr{self}, on] {
        const std::shared_ptr<run> running = weak.lock();
        if (running && running->kept) asio::co_spawn(on, renew(running), asio::detached);
      });
}

void engine::state::stop_keeping(run& self) {
  self.kept = false;
  self.next_renewal.reset();
}

asio::awaitable<void> engine::state::renew(std::shared_ptr<run> self) {
  const asio::any_io_executor on = co_await asio::this_coro::executor;
  // The run, and with it perhaps the engine, may have ended before this began.
  if (!self->kept) co_return;
  const auto lease = self->by->settings().lease;
  const fence by = self->fenced_by();
  const result<write_reply> reply = co_await store_.renew(by);
  if (!self->kept) co_return;

  if (!reply) {
    report_fault(*self, reply.error());
    if (!self->trusted(env_.now()) && !self->told_trust_over) {
      self->told_trust_over = true;
      report(fact_kind::trust_over, *self);
    }
    keep(self, on, env_.now() + retry_after(lease));
    co_return;
  }
  if (reply->verdict == write_verdict::lease_lost) {
    // A completion of this very claim, by the application, is no loss.
    const bool own = reply->current && reply->current->claim_id == by.claim_id;
    stop_keeping(*self);
    if (own) co_return;
    report(fact_kind::lease_lost, *self);
    self->taken_over = true;
    self->lost.request_stop();
    co_return;
  }
  // A row held by an open transaction cannot be taken over: busy counts as alive. But its lease has
  // not grown, and the transaction may end at any moment.
  self->trust(reply->sent_at);
  self->told_trust_over = false;
  if (reply->verdict == write_verdict::busy) {
    keep(self, on, env_.now() + retry_after(lease));
    co_return;
  }
  report(fact_kind::renewed, *self);
  keep(self, on, reply->sent_at + lease * 2 / 3);
}

}  // namespace callonce
