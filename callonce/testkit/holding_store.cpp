#include <callonce/testkit/holding_store.hpp>

namespace callonce::testkit {

void holding_store::free(const identity& row) {
  const auto found = held_.find(row);
  if (found != held_.end() && --found->second == 0) held_.erase(found);
}

asio::awaitable<result<record_page>> holding_store::look(const identity& row) {
  record_filter exact;
  exact.exact = row;
  co_return co_await inner().find(exact);
}

// What a write on a held row meets, by the rules themselves; nothing: the holder is not in its way.
template <class Rule>
asio::awaitable<std::optional<write_reply>> holding_store::meets_holder(const identity& row,
                                                                        Rule rule) {
  if (!is_held(row)) co_return std::nullopt;
  const result<record_page> page = co_await look(row);
  if (!page || page->records.empty()) co_return std::nullopt;
  const record& found = page->records.front();
  const write_step step = rule(&found, page->read_at);
  if (step.verdict != write_verdict::busy) co_return std::nullopt;
  write_reply reply;
  reply.verdict = write_verdict::busy;
  reply.current = found;
  reply.judged_at = page->read_at;
  co_return reply;
}

asio::awaitable<result<claim_reply>> holding_store::claim(const claim_request& wish) {
  if (is_held(wish.id)) {
    const result<record_page> page = co_await look(wish.id);
    if (page && !page->records.empty()) {
      const record& found = page->records.front();
      const claim_step step = on_claim(&found, wish, page->read_at, row_hold::held);
      if (!step.write) {
        claim_reply reply;
        reply.verdict = step.verdict;
        reply.current = found;
        reply.judged_at = page->read_at;
        co_return reply;
      }
    }
  }
  co_return co_await inner().claim(wish);
}

asio::awaitable<result<write_reply>> holding_store::renew(const fence& by) {
  const auto rule = [&](const record* found, moment now) {
    return on_renew(found, by, now, row_hold::held);
  };
  if (auto busy = co_await meets_holder(by.id, rule)) co_return *std::move(busy);
  co_return co_await inner().renew(by);
}

asio::awaitable<result<write_reply>> holding_store::complete(
    const fence& by, std::shared_ptr<const stored_answer> answer) {
  const auto rule = [&](const record* found, moment now) {
    return on_complete(found, by, answer, now, row_hold::held);
  };
  if (auto busy = co_await meets_holder(by.id, rule)) co_return *std::move(busy);
  co_return co_await inner().complete(by, answer);
}

asio::awaitable<result<write_reply>> holding_store::release(const fence& by,
                                                            std::chrono::milliseconds retention) {
  const auto rule = [&](const record* found, moment now) {
    return on_release(found, by, retention, now, row_hold::held);
  };
  if (auto busy = co_await meets_holder(by.id, rule)) co_return *std::move(busy);
  co_return co_await inner().release(by, retention);
}

asio::awaitable<result<write_reply>> holding_store::park(const fence& by) {
  const auto rule = [&](const record* found, moment) { return on_park(found, by, row_hold::held); };
  if (auto busy = co_await meets_holder(by.id, rule)) co_return *std::move(busy);
  co_return co_await inner().park(by);
}

asio::awaitable<result<write_reply>> holding_store::settle(const settlement& decision,
                                                           const settle_reason& reason) {
  const auto rule = [&](const record* found, moment now) {
    return on_settle(found, decision, now, row_hold::held);
  };
  if (auto busy = co_await meets_holder(decision.id, rule)) co_return *std::move(busy);
  co_return co_await inner().settle(decision, reason);
}

store_traits holding_store::traits() const {
  store_traits made = inner().traits();
  made.co_commit = co_commit_;
  return made;
}

}  // namespace callonce::testkit
