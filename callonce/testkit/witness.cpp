#include "callonce/testkit/witness.hpp"

namespace callonce::testkit {
namespace {

std::string_view to_text(claim_verdict verdict) {
  switch (verdict) {
    case claim_verdict::claimed:
      return "claimed";
    case claim_verdict::in_progress:
      return "in progress";
    case claim_verdict::mismatch:
      return "mismatch";
    case claim_verdict::other_rule:
      return "other rule";
    case claim_verdict::outcome_unknown:
      return "outcome unknown";
    case claim_verdict::completed:
      return "completed";
    case claim_verdict::busy:
      return "busy";
  }
  return "?";
}

std::string_view to_text(write_verdict verdict) {
  switch (verdict) {
    case write_verdict::done:
      return "done";
    case write_verdict::busy:
      return "busy";
    case write_verdict::lease_lost:
      return "lease lost";
  }
  return "?";
}

}  // namespace

void checker::witness::write(const char* what, const fence& by, const result<write_reply>& reply) {
  tells_.trace([&] {
    std::string line = "  store: node " + std::to_string(sender_) + " " + what + " " +
                       tells_.name_of(by.id) + " attempt " + std::to_string(by.attempt) + ": ";
    return line.append(reply ? to_text(reply->verdict) : "fault");
  });
}

asio::awaitable<result<claim_reply>> checker::witness::claim(const claim_request& wish) {
  result<claim_reply> reply = co_await inner().claim(wish);
  tells_.claim_judged(sender_, wish, reply);
  tells_.trace([&] {
    std::string line =
        "  store: node " + std::to_string(sender_) + " claim " + tells_.name_of(wish.id) + ": ";
    if (!reply) return line + "fault";
    line.append(to_text(reply->verdict));
    if (reply->verdict == claim_verdict::claimed) {
      line.append(" (").append(to_string(reply->kind)).append(") attempt ");
      line += std::to_string(reply->current.attempt);
    }
    return line;
  });
  co_return reply;
}

asio::awaitable<result<write_reply>> checker::witness::renew(const fence& by) {
  result<write_reply> reply = co_await inner().renew(by);
  write("renew", by, reply);
  if (reply) tells_.renewed(by, *reply);
  co_return reply;
}

asio::awaitable<result<write_reply>> checker::witness::complete(
    const fence& by, std::shared_ptr<const stored_answer> answer) {
  result<write_reply> reply = co_await inner().complete(by, answer);
  write("complete", by, reply);
  if (reply) tells_.completed(by, answer, *reply, with_effect_);
  co_return reply;
}

asio::awaitable<result<write_reply>> checker::witness::release(
    const fence& by, std::chrono::milliseconds retention) {
  result<write_reply> reply = co_await inner().release(by, retention);
  write("release", by, reply);
  if (reply) tells_.released(by, *reply);
  co_return reply;
}

asio::awaitable<result<write_reply>> checker::witness::park(const fence& by) {
  result<write_reply> reply = co_await inner().park(by);
  write("park", by, reply);
  if (reply) tells_.parked(by, *reply);
  co_return reply;
}

asio::awaitable<result<write_reply>> checker::witness::settle(const settlement& decision,
                                                              const settle_reason& reason) {
  result<write_reply> reply = co_await inner().settle(decision, reason);
  const fence shown{decision.id, decision.claim_id, decision.expected_attempt};
  write(decision.answer ? "settle completed" : "settle released", shown, reply);
  if (reply) tells_.settled(decision, *reply);
  co_return reply;
}

asio::awaitable<result<record_page>> checker::witness::find(const record_filter& which) {
  result<record_page> page = co_await inner().find(which);
  if (page) {
    for (const record& each : page->records) tells_.seen(each);
  }
  co_return page;
}

asio::awaitable<result<purge_reply>> checker::witness::purge(std::size_t limit) {
  result<purge_reply> reply = co_await inner().purge(limit);
  tells_.purged();
  if (reply && reply->bodies + reply->records + reply->parked > 0) {
    tells_.trace([&] {
      return "  store: node " + std::to_string(sender_) + " purges " +
             std::to_string(reply->records) + " records, " + std::to_string(reply->bodies) +
             " bodies, parks " + std::to_string(reply->parked);
    });
  }
  co_return reply;
}

void checker::listener::on(const fact& what) {
  ++tells_.reported_[what.kind];
  if (what.kind == fact_kind::abandoned && what.id != nullptr) {
    for (claim_note& each : tells_.about(*what.id).claims) {
      if (each.sender == sender_ && each.attempt == what.attempt) each.abandoned = true;
    }
  }
  tells_.trace([&] {
    std::string line = "node " + std::to_string(sender_) + " ";
    line.append(to_string(what.kind));
    if (what.id != nullptr) line += ": " + tells_.name_of(*what.id);
    if (what.attempt != 0) line += " attempt " + std::to_string(what.attempt);
    if (what.kind == fact_kind::refused) line.append(" ").append(to_string(what.code));
    if (what.status != 0) line += " status " + std::to_string(what.status);
    return line;
  });
}

}  // namespace callonce::testkit
