#include <optional>

#include <callonce/testkit/store_decorator.hpp>
#include <callonce/testkit/twins.hpp>

namespace callonce::testkit {
namespace {

class fence_off final : public store_decorator {
 public:
  using store_decorator::store_decorator;
  asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) override {
    record_filter exact;
    exact.exact = by.id;
    const result<record_page> page = co_await inner().find(exact);
    fence found = by;
    if (page && !page->records.empty()) {
      found.claim_id = page->records.front().claim_id;
      found.attempt = page->records.front().attempt;
    }
    co_return co_await inner().complete(found, answer);
  }
};

class lease_check_off final : public store_decorator {
 public:
  using store_decorator::store_decorator;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    result<claim_reply> reply = co_await inner().claim(wish);
    if (!reply || reply->verdict != claim_verdict::in_progress) co_return reply;
    settlement ends;
    ends.id = wish.id;
    ends.expected_attempt = reply->current.attempt;
    ends.claim_id = wish.claim_id;
    ends.claim_id.front() ^= std::byte{1};
    ends.released_retention = wish.terms.key_retention;
    const settle_reason why;
    co_await inner().settle(ends, why);
    reply = co_await inner().claim(wish);
    if (reply) reply->kind = claim_kind::takeover;
    co_return reply;
  }
};

class mismatch_order final : public store_decorator {
 public:
  using store_decorator::store_decorator;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    result<claim_reply> reply = co_await inner().claim(wish);
    if (!reply || reply->verdict != claim_verdict::mismatch) co_return reply;
    claim_request same = wish;
    same.fingerprint = reply->current.fingerprint;
    co_return co_await inner().claim(same);
  }
};

class answers_swapped final : public store_decorator {
 public:
  using store_decorator::store_decorator;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    result<claim_reply> reply = co_await inner().claim(wish);
    if (!reply || reply->verdict != claim_verdict::completed) co_return reply;
    const std::optional<record> other = std::move(last_);
    last_ = reply->current;
    if (other && other->id != wish.id) reply->current.answer = other->answer;
    co_return reply;
  }

 private:
  std::optional<record> last_;
};

class claim_not_repeatable final : public store_decorator {
 public:
  using store_decorator::store_decorator;
  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override {
    result<claim_reply> reply = co_await inner().claim(wish);
    if (reply && reply->kind == claim_kind::repeat) reply->verdict = claim_verdict::in_progress;
    co_return reply;
  }
};

}  // namespace

std::vector<std::string_view> broken_store_names() {
  return {"fence_off", "lease_check_off", "mismatch_order", "answers_swapped",
          "claim_not_repeatable"};
}

std::unique_ptr<store> make_broken_store(std::string_view name, store& inner) {
  if (name == "fence_off") return std::make_unique<fence_off>(inner);
  if (name == "lease_check_off") return std::make_unique<lease_check_off>(inner);
  if (name == "mismatch_order") return std::make_unique<mismatch_order>(inner);
  if (name == "answers_swapped") return std::make_unique<answers_swapped>(inner);
  if (name == "claim_not_repeatable") return std::make_unique<claim_not_repeatable>(inner);
  return nullptr;
}

}  // namespace callonce::testkit
