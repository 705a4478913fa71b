#include <algorithm>
#include <charconv>

#include <callonce/core/replay.hpp>
#include <callonce/engine/body_source.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

std::optional<std::uint64_t> declared_length(const response& head) {
  const std::string* text = head.headers().find("Content-Length");
  if (text == nullptr) return std::nullopt;
  std::uint64_t length = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (fault != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return length;
}

bool is_event_stream(const response& head) {
  const std::string* type = head.headers().find("Content-Type");
  return type != nullptr && same_name(type->substr(0, type->find(';')), "text/event-stream");
}

// Why a body must not be awaited before the record is completed, if its head says so already.
body_omitted known_too_long(const answer& given, std::uint64_t bytes_max) {
  if (is_event_stream(given.head)) return body_omitted::stream;
  const bool beyond = bytes_max == 0 || declared_length(given.head).value_or(0) > bytes_max;
  return beyond ? body_omitted::cap : body_omitted::none;
}

// What still comes keeps its declared length, so that the client can tell a cut-off from the end.
void strip_for_client(answer& given) {
  const std::optional<std::uint64_t> length =
      given.rest ? declared_length(given.head) : std::nullopt;
  strip_for_client(given.head.headers());
  if (length) given.head.headers().add("Content-Length", std::to_string(*length));
}

problem about(problem_code code, const run& self) {
  problem made{code};
  made.record_id = self.id.record_id();
  return made;
}

}  // namespace

void engine::state::publish(run& self, answer given) {
  strip_for_client(given);
  self.first = std::move(given);
  self.publish();
}

// The record moved on without us: its answer, if it has one, is the only one anybody may see.
void engine::state::publish_refused(run& self, const write_reply& refused) {
  // Past its retention the key may belong to another request by now: its answer is not for us.
  if (refused.current && refused.current->fingerprint != self.asks) {
    problem why = about(problem_code::key_reused, self);
    why.status = self.by->settings().on_mismatch;
    if (!self.taken_over) report(fact_kind::lease_lost, self);
    report_refusal(*self.by, &self.id, why);
    publish(self, to_response(why, self.by->settings().problems));
    return;
  }
  if (refused.current && refused.current->state == record_state::completed) {
    publish_stored(self, *refused.current);
    return;
  }
  if (!self.taken_over) report(fact_kind::lease_lost, self);
  problem why = about(problem_code::claim_lost, self);
  if (refused.current) {
    const auto left = refused.current->lease_until - refused.judged_at.lease;
    why.retry_after =
        std::clamp<std::chrono::seconds>(std::chrono::ceil<std::chrono::seconds>(left), 1s, 30s);
  }
  report_refusal(*self.by, &self.id, why);
  publish(self, to_response(why, self.by->settings().problems));
}

void engine::state::publish_stored(run& self, const record& found) {
  const bool own = found.claim_id == self.reply->current.claim_id;
  if (own || !self.taken_over) {
    report(own ? fact_kind::co_committed : fact_kind::lease_lost, self);
  }
  if (found.answer && found.answer->omitted == body_omitted::none) self.stored = found.answer;
  self.first = stored_for_first(self, found);
  self.publish();
}

answer engine::state::stored_for_first(run& self, const record& found) {
  const bool own = found.claim_id == self.reply->current.claim_id;
  if (found.answer && found.answer->omitted == body_omitted::none) {
    const auto& dropped = self.by->settings().replay_headers_drop;
    return own ? thaw(*found.answer, /*mark=*/false) : thaw(*found.answer, /*mark=*/true, dropped);
  }
  if (!found.answer) report(fact_kind::corrupt, self);
  problem why = about(problem_code::response_unavailable, self);
  if (found.answer) why.original_status = found.answer->status;
  response made = to_response(why, self.by->settings().problems);
  strip_for_client(made.headers());
  return made;
}

// The first answer must equal every replay; that the application has said something else is its
// mistake, and somebody has to know of it.
void engine::state::note_difference(const run& self, const write_reply& refused, int status,
                                    const stored_answer* frozen) const {
  const bool own = refused.current && refused.current->state == record_state::completed &&
                   refused.current->claim_id == self.reply->current.claim_id;
  if (!own || !refused.current->answer) return;
  const stored_answer& stored = *refused.current->answer;
  const bool bodies_differ = frozen != nullptr && stored.omitted == body_omitted::none &&
                             frozen->omitted == body_omitted::none && stored.body != frozen->body;
  if (stored.status != status || bodies_differ) report(fact_kind::answer_differs, self, status);
}

asio::awaitable<result<write_reply>> engine::state::insist(run& self, const write& attempt,
                                                           steady_time until) {
  std::chrono::milliseconds pause = first_pause;
  for (;;) {
    result<write_reply> reply = co_await attempt();
    if (reply && reply->verdict != write_verdict::busy) co_return reply;
    if (!reply) report_fault(self, reply.error());
    if (until != steady_time::max() && env_.now() + pause >= until) {
      if (reply) co_return errc::unavailable;
      co_return reply;
    }
    co_await detail::sleep_until(env_, env_.now() + pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

asio::awaitable<void> engine::state::conclude_answer(run& self, answer given) {
  const judgement judged = judge(*self.by, given.head);
  if (judged.verdict == judgement::kind::park) {
    co_await park(self, std::move(given));
    co_return;
  }
  if (judged.verdict == judgement::kind::keep) {
    co_await keep_claim(self, std::move(given));
    co_return;
  }
  const policy_settings& is = self.by->settings();
  body_omitted omitted = body_omitted::none;
  if (given.rest) {
    omitted = known_too_long(given, is.response_body_max);
    if (omitted == body_omitted::none) {
      const detail::collected how = co_await detail::collect(given, is.response_body_max);
      if (how == detail::collected::broken) {
        const problem why = about(problem_code::upstream_broken, self);
        report_refusal(*self.by, &self.id, why);
        response broken = to_response(why, is.problems);
        co_await conclude_indeterminate(self, std::move(broken));
        co_return;
      }
      if (how == detail::collected::beyond) omitted = body_omitted::cap;
    }
  }
  if (judged.verdict == judgement::kind::release) {
    if (given.rest) {
      co_await release_after_last_byte(self, std::move(given), judged.released_retention);
    } else {
      co_await release(self, std::move(given.head), judged.released_retention);
    }
    co_return;
  }
  stored_answer frozen = freeze(given.head, is.replay_headers_drop, is.response_body_max);
  if (omitted != body_omitted::none) {
    frozen.omitted = omitted;
    frozen.body = {};
  }
  auto kept = std::make_shared<const stored_answer>(std::move(frozen));
  co_await complete(self, std::move(given), std::move(kept));
}

asio::awaitable<void> engine::state::complete(run& self, answer given,
                                              std::shared_ptr<const stored_answer> frozen) {
  const fence by = self.fenced_by();
  const write completion = [&] { return store_.complete(by, frozen); };
  const result<write_reply> reply =
      co_await insist(self, completion, env_.now() + limits_.store_patience);
  if (reply && reply->verdict == write_verdict::lease_lost) {
    note_difference(self, *reply, frozen->status, frozen.get());
    publish_refused(self, *reply);
    co_return;
  }
  if (!reply && self.by->settings().effects == effect_class::atomic) {
    co_await leave_to_application(self, completion);
    co_return;
  }
  self.stored = frozen;
  if (reply) {
    self.recorded_at = reply->sent_at;
    report_completed(self, *reply);
    publish(self, std::move(given));
    co_return;
  }
  // The effect has happened: a 5xx here would cause the duplicate. The true answer goes out,
  // marked, and stays here until it is durable or another claim has won (S-18, K20, C77).
  report(fact_kind::unrecorded, self, frozen->status);
  self.unrecorded = true;
  strip_for_client(given);
  given.head.headers().add("Idempotency-Recorded", "?0");
  self.first = std::move(given);
  self.publish();
  self.settled.fire();
  co_await keep_recording(self, completion);
}

void engine::state::report_completed(run& self, const write_reply& reply) const {
  const bool by_application = reply.already && store_.traits().co_commit;
  report(by_application ? fact_kind::co_committed : fact_kind::completed, self,
         self.stored->status);
  const bool success = self.stored->status < 300;
  if (!by_application && success && self.by->settings().effects == effect_class::atomic) {
    report(fact_kind::not_co_committed, self, self.stored->status);
  }
}

asio::awaitable<void> engine::state::keep_recording(run& self, const write& completion) {
  bool recorded = false;
  if (unrecorded_ < limits_.unrecorded_max) {
    ++unrecorded_;
    const result<write_reply> reply = co_await insist(self, completion, steady_time::max());
    --unrecorded_;
    recorded = reply && reply->verdict == write_verdict::done;
    if (recorded) self.recorded_at = reply->sent_at;
  }
  self.unrecorded = false;
  if (recorded) {
    report(fact_kind::completed, self, self.stored->status);
  } else {
    report(fact_kind::lease_lost, self);
    self.stored = nullptr;
  }
}

asio::awaitable<result<write_reply>> engine::state::release_record(
    run& self, std::chrono::milliseconds retention, steady_time until) {
  const fence by = self.fenced_by();
  const write attempt = [&] { return store_.release(by, retention); };
  result<write_reply> reply = co_await insist(self, attempt, until);
  if (reply && reply->verdict == write_verdict::done) report(fact_kind::released, self);
  co_return reply;
}

asio::awaitable<void> engine::state::release(run& self, response said,
                                             std::chrono::milliseconds retention) {
  const result<write_reply> reply =
      co_await release_record(self, retention, env_.now() + limits_.store_patience);
  if (reply && reply->verdict == write_verdict::lease_lost) {
    note_difference(self, *reply, said.status(), nullptr);
    publish_refused(self, *reply);
    co_return;
  }
  publish(self, std::move(said));
  // The answer is not frozen, so it need not wait for the record: the row is freed when it can be.
  if (!reply) {
    co_await release_record(self, retention, env_.now() + self.by->settings().detached_max);
  }
}

asio::awaitable<void> engine::state::release_after_last_byte(run& self, answer given,
                                                             std::chrono::milliseconds retention) {
  const auto shared = std::make_shared<detail::watched_source>(std::move(given.rest));
  if (self.awaited) {
    given.rest = detail::watched_source::side_of(shared);
    publish(self, std::move(given));
    co_await shared->let_go.wait(env_, steady_time::max());
  }
  // A client that left does not end the handler: only its last byte does.
  if (!shared->at_end()) co_await detail::exhaust(shared->inner());
  const result<write_reply> reply =
      co_await release_record(self, retention, env_.now() + self.by->settings().detached_max);
  if (reply && reply->verdict == write_verdict::lease_lost) report(fact_kind::lease_lost, self);
}

asio::awaitable<void> engine::state::park(run& self, answer given) {
  const fence by = self.fenced_by();
  const write attempt = [&] { return store_.park(by); };
  result<write_reply> reply = co_await insist(self, attempt, env_.now() + limits_.store_patience);
  if (reply && reply->verdict == write_verdict::lease_lost) {
    publish_refused(self, *reply);
    co_return;
  }
  if (!reply) {
    publish(self, std::move(given));
    reply = co_await insist(self, attempt, self.lease_until);
    if (reply && reply->verdict == write_verdict::done) report(fact_kind::parked, self);
    co_return;
  }
  report(fact_kind::parked, self, given.head.status());
  publish(self, std::move(given));
}

// Whatever the handler made of it, only the record's own answer may be seen; any write under the
// lost fence brings it along.
asio::awaitable<void> engine::state::conclude_taken_over(run& self) {
  const fence by = self.fenced_by();
  const result<write_reply> reply = co_await store_.renew(by);
  if (!reply) report_fault(self, reply.error());
  const write_reply refused = reply ? *reply : write_reply{};
  publish_refused(self, refused);
}

// The handler has ended, so its next attempt may start at once; what it did before it threw is not
// known to us, and under `park` not to be guessed.
asio::awaitable<void> engine::state::conclude_failure(run& self) {
  const policy_settings& is = self.by->settings();
  response failed = to_response(about(problem_code::internal_error, self), is.problems);
  if (is.park_on_lapse) {
    answer whole{std::move(failed)};
    co_await park(self, std::move(whole));
  } else {
    co_await release(self, std::move(failed), is.released_retention);
  }
}

asio::awaitable<void> engine::state::conclude_indeterminate(run& self, response said) {
  const bool known = co_await publish_read_back(self);
  if (known) co_return;
  answer whole{std::move(said)};
  if (self.by->settings().park_on_lapse) {
    co_await park(self, std::move(whole));
    co_return;
  }
  report(fact_kind::kept, self, whole.head.status());
  publish(self, std::move(whole));
}

}  // namespace callonce
