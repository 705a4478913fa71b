#include <callonce/stores/memory/store.hpp>

namespace callonce::memory {
namespace {

moment read_clocks(const environment& in) {
  const auto lease = std::chrono::floor<store_clock::duration>(in.now().time_since_epoch());
  const auto wall = std::chrono::floor<store_clock::duration>(in.wall().time_since_epoch());
  return {instant{lease}, instant{wall}};
}

bool matches(const record& each, const record_filter& which, moment now) {
  if (which.exact && each.id != *which.exact) return false;
  if (!which.record_id.empty() && each.id.record_id() != which.record_id) return false;
  if (which.state && each.state != *which.state) return false;
  if (!which.route.empty() && each.terms.route != which.route) return false;
  return now.wall - each.created_at >= which.older_than;
}

void drop_body(record& completed) {
  stored_answer bare = *completed.answer;
  bare.body = {};
  bare.omitted = body_omitted::expired;
  completed.answer = std::make_shared<const stored_answer>(std::move(bare));
}

}  // namespace

store::store(environment& in) : store(in, [&in] { return read_clocks(in); }) {}

store::store(environment& in, clock now) : environment_(in), now_(std::move(now)) {}

const record* store::look_up(const identity& id) const {
  const auto place = places_.find(id);
  return place == places_.end() ? nullptr : &records_.at(place->second);
}

void store::write(record next) {
  const auto [place, is_new] = places_.try_emplace(next.id, last_place_ + 1);
  if (is_new) ++last_place_;
  records_.insert_or_assign(place->second, std::move(next));
}

claim_reply store::apply_claim(const claim_request& wish) {
  claim_reply reply;
  reply.sent_at = environment_.now();
  const std::lock_guard guard{mutex_};
  reply.judged_at = now_();
  const record* found = look_up(wish.id);
  claim_step step = on_claim(found, wish, reply.judged_at);
  reply.verdict = step.verdict;
  reply.kind = step.kind;
  if (found != nullptr) reply.current = *found;
  if (step.write) {
    reply.current = *step.write;
    write(*std::move(step.write));
  }
  return reply;
}

template <class Rule>
write_reply store::apply_write(const identity& id, Rule rule) {
  write_reply reply;
  reply.sent_at = environment_.now();
  const std::lock_guard guard{mutex_};
  reply.judged_at = now_();
  const record* found = look_up(id);
  write_step step = rule(found, reply.judged_at);
  reply.verdict = step.verdict;
  if (step.write) {
    reply.current = *step.write;
    write(*std::move(step.write));
  } else if (found != nullptr) {
    reply.already = step.verdict == write_verdict::done;
    reply.current = *found;
  }
  return reply;
}

asio::awaitable<result<claim_reply>> store::claim(const claim_request& wish) {
  co_return apply_claim(wish);
}

asio::awaitable<result<write_reply>> store::renew(const fence& by) {
  const auto rule = [&](const record* found, moment now) { return on_renew(found, by, now); };
  co_return apply_write(by.id, rule);
}

asio::awaitable<result<write_reply>> store::complete(const fence& by,
                                                     std::shared_ptr<const stored_answer> answer) {
  const auto rule = [&](const record* found, moment now) {
    return on_complete(found, by, answer, now);
  };
  co_return apply_write(by.id, rule);
}

asio::awaitable<result<write_reply>> store::release(const fence& by,
                                                    std::chrono::milliseconds retention) {
  const auto rule = [&](const record* found, moment now) {
    return on_release(found, by, retention, now);
  };
  co_return apply_write(by.id, rule);
}

asio::awaitable<result<write_reply>> store::park(const fence& by) {
  const auto rule = [&](const record* found, moment) { return on_park(found, by); };
  co_return apply_write(by.id, rule);
}

asio::awaitable<result<write_reply>> store::settle(const settlement& decision,
                                                   const settle_reason&) {
  const auto rule = [&](const record* found, moment now) {
    return on_settle(found, decision, now);
  };
  co_return apply_write(decision.id, rule);
}

record_page store::read_page(const record_filter& which) const {
  const std::lock_guard guard{mutex_};
  record_page page;
  page.read_at = now_();
  std::uint64_t last = 0;
  for (auto at = records_.upper_bound(which.after); at != records_.end(); ++at) {
    if (!matches(at->second, which, page.read_at)) continue;
    if (page.records.size() == which.limit) {
      page.next = last;
      break;
    }
    page.records.push_back(at->second);
    last = at->first;
  }
  return page;
}

asio::awaitable<result<record_page>> store::find(const record_filter& which) {
  co_return read_page(which);
}

purge_reply store::purge_some(std::size_t limit) {
  const std::lock_guard guard{mutex_};
  const moment now = now_();
  purge_reply reply;
  auto at = records_.upper_bound(purged_to_);
  for (std::size_t seen = 0; seen < limit && at != records_.end(); ++seen) {
    purged_to_ = at->first;
    record& each = at->second;
    const auto next = std::next(at);
    switch (on_purge(each, now)) {
      case purge_verdict::keep:
        break;
      case purge_verdict::drop_body:
        drop_body(each);
        ++reply.bodies;
        break;
      case purge_verdict::park:
        each.state = record_state::parked;
        ++reply.parked;
        break;
      case purge_verdict::remove:
        places_.erase(each.id);
        records_.erase(at);
        ++reply.records;
        break;
    }
    at = next;
  }
  reply.more = at != records_.end();
  if (!reply.more) purged_to_ = 0;
  return reply;
}

asio::awaitable<result<purge_reply>> store::purge(std::size_t limit) {
  co_return purge_some(limit);
}

store_traits store::traits() const {
  store_traits made;
  made.name = "memory";
  return made;
}

std::size_t store::size() const {
  const std::lock_guard guard{mutex_};
  return records_.size();
}

}  // namespace callonce::memory
