#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// Long enough for a storm's tail, short enough that nobody notices the memory.
constexpr std::chrono::milliseconds remembered_for = 2s;

const stored_answer* answer_of(const run& ended) {
  if (!ended.reply) return nullptr;
  return ended.won() ? ended.stored.get() : ended.reply->current.answer.get();
}

// Body, and about what a run, its headers and its places in the tables take.
std::size_t remembered_size(const run& ended) {
  return answer_of(ended)->body.size() + 2048;
}

// A completed record never changes, so its answer may be given from memory for a moment, and never
// past the end of its body: counted from before the store was asked, for this process may have
// slept since. Only keys that are asked for again gain by that: others go at once.
steady_time true_until(const run& ended) {
  constexpr steady_time never = steady_time::min();
  if (answer_of(ended) == nullptr || ended.unrecorded) return never;
  if (ended.won()) {
    const auto half = ended.by->settings().retention / 2;
    return ended.duplicated ? ended.recorded_at + std::min(remembered_for, half) : never;
  }
  const claim_reply& said = *ended.reply;
  if (said.verdict != claim_verdict::completed) return never;
  const auto half = (said.current.body_until - said.judged_at.wall) / 2;
  return said.sent_at + std::min(remembered_for, half);
}

}  // namespace

std::shared_ptr<run> engine::state::find(const identity& id) {
  forget_old();
  const auto found = table_.find(id);
  return found == table_.end() ? nullptr : found->second;
}

std::shared_ptr<run> engine::state::begin(const asio::any_io_executor& on,
                                          std::shared_ptr<run> made) {
  table_[made->id] = made;
  ++live_;
  asio::co_spawn(on, execute(made), asio::detached);
  return made;
}

void engine::state::unlist(const std::shared_ptr<run>& ended) {
  const auto found = table_.find(ended->id);
  if (found != table_.end() && found->second == ended) table_.erase(found);
}

void engine::state::remember(const std::shared_ptr<run>& ended, steady_time until) {
  const std::size_t bytes = remembered_size(*ended);
  if (remembered_bytes_ + bytes > limits_.finished_bytes_max) {
    unlist(ended);
    return;
  }
  ended->forget_at = until;
  remembered_bytes_ += bytes;
  remembered_.push_back(ended);
}

void engine::state::forget_old() {
  const steady_time now = env_.now();
  while (!remembered_.empty() && remembered_.front()->forget_at <= now) {
    remembered_bytes_ -= remembered_size(*remembered_.front());
    unlist(remembered_.front());
    remembered_.pop_front();
  }
}

void engine::state::finish(const std::shared_ptr<run>& self) {
  stop_keeping(*self);
  self->asked.reset();
  self->detached_end.reset();
  if (self->detached) --detached_;
  if (const steady_time until = true_until(*self); until > env_.now()) {
    remember(self, until);
  } else {
    unlist(self);
  }
  self->finished = true;
  self->settled.fire();
  if (--live_ == 0 && emptied_) emptied_->fire();
}

// From here on nobody waits: the run goes on, but not for ever.
void engine::state::detach(const std::shared_ptr<run>& self, const asio::any_io_executor& on) {
  if (self->detached || self->finished) return;
  self->detached = true;
  ++detached_;
  report(fact_kind::detached, *self);
  self->detached_end = env_.call_at(on, env_.now() + self->by->settings().detached_max,
                                    [this, alive = shared_from_this(), weak = std::weak_ptr{self}] {
                                      const std::shared_ptr<run> overdue = weak.lock();
                                      if (!overdue || overdue->finished) return;
                                      report(fact_kind::abandoned, *overdue);
                                      stop_keeping(*overdue);
                                      overdue->lost.request_stop();
                                    });
}

asio::awaitable<bool> engine::state::drained(steady_time deadline) {
  if (live_ == 0) co_return true;
  if (!emptied_) emptied_ = std::make_shared<detail::event>();
  const std::shared_ptr<detail::event> emptied = emptied_;
  co_await emptied->wait(env_, deadline);
  co_return live_ == 0;
}

void engine::state::report(fact_kind kind, const run& about, int status) const {
  if (observer_ == nullptr) return;
  fact what{kind, about.by->settings().name, &about.id};
  what.status = status;
  if (about.reply.has_value()) {
    what.attempt = about.reply->current.attempt;
    what.claim = about.reply->kind;
  }
  observer_->on(what);
}

void engine::state::report(fact_kind kind, const policy& by, const identity* id, int status) const {
  if (observer_ == nullptr) return;
  fact what{kind, by.settings().name, id};
  what.status = status;
  observer_->on(what);
}

void engine::state::report_refusal(const policy& by, const identity* id, const problem& why) const {
  if (observer_ == nullptr) return;
  fact what{fact_kind::refused, by.settings().name, id};
  what.code = why.code;
  what.status = why.status != 0 ? why.status : default_status(why.code);
  observer_->on(what);
}

void engine::state::report_fault(const run& about, boost::system::error_code fault) const {
  const fact_kind kind = fault == errc::in_doubt  ? fact_kind::in_doubt
                         : fault == errc::corrupt ? fact_kind::corrupt
                                                  : fact_kind::store_failed;
  report(kind, about);
}

}  // namespace callonce
