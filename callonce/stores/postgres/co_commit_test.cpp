// The library's co-commit under a real engine: handlers with a transaction of their own.

#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <tests/support/postgres_shop.hpp>

#include <callonce/engine/blocking.hpp>
#include <callonce/stores/postgres/co_commit.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class counting : public observer {
 public:
  void on(const fact& what) override {
    const std::lock_guard guard{mutex_};
    ++seen_[what.kind];
  }
  int of(fact_kind kind) {
    const std::lock_guard guard{mutex_};
    return seen_[kind];
  }

 private:
  std::mutex mutex_;
  std::map<fact_kind, int> seen_;
};

policy order_policy() {
  policy_settings is;
  is.scope = scope_from_header("X-Account");
  is.effects = effect_class::atomic;
  is.lease = 5s;
  is.timeout = 4s;
  return policy{is};
}

response created() {
  response made{201, "application/json", "{\"id\":1}"s};
  made.header("Location", "/v1/orders/1");
  return made;
}

// An order service in process whose handler is given by each test.
struct order_service {
  explicit order_service(blocking::handler does)
      : orders_route(over, order_policy(), std::move(does)) {}

  response post(const std::string& key, const std::string& body = "one") {
    header_list lines;
    lines.add("X-Account", "anna");
    lines.add("Idempotency-Key", "\"" + key + "\"");
    return orders_route(request{"POST", "/v1/orders", lines, body});
  }
  std::size_t orders() { return postgres_client{url}.ask("select id from orders").size(); }

  const std::string url = postgres_server::shared().url(new_shop());
  counting facts;
  store records{url};
  engine over{records, system_environment(), &facts};
  blocking::route orders_route;
};

bool is_marked(const response& answer) {
  return answer.headers().find("Idempotent-Replayed") != nullptr;
}

void make_order(postgres_client& in) {
  in.ask("insert into orders (note) values ('one')");
}

// The four lines of every example.
outcome order(const std::string& url, claim& won) {
  postgres_client in{url};
  in.ask("begin");
  hold(in.handle(), won).value();
  make_order(in);
  complete(in.handle(), won, created()).value();
  in.ask("commit");
  return committed{created()};
}

TEST(co_commit, I7_one_effect_and_the_same_answer_for_every_retry) {
  std::string url;
  order_service at{[&](claim& won, const request&) { return order(url, won); }};
  url = at.url;
  const response first = at.post("k");
  EXPECT_EQ(first.status(), 201);
  EXPECT_FALSE(is_marked(first));
  const response again = at.post("k");
  EXPECT_TRUE(is_marked(again));
  EXPECT_EQ(again.body_text(), first.body_text());
  EXPECT_EQ(*again.headers().find("Location"), "/v1/orders/1");
  EXPECT_EQ(at.post("k", "another").status(), 422);
  EXPECT_EQ(at.orders(), 1u);
  EXPECT_EQ(at.facts.of(fact_kind::co_committed), 1);
  EXPECT_EQ(at.facts.of(fact_kind::completed), 0);
  EXPECT_EQ(at.facts.of(fact_kind::not_co_committed), 0);
}

TEST(co_commit, the_stored_answer_is_byte_for_byte_what_the_library_sends) {
  std::string url;
  response odd{201, "application/octet-stream", body_bytes{"\0\xFF\r\n"s}};
  odd.header("X-Odd", "caf\xE9").header("Set-Cookie", "a=b");
  order_service at{[&](claim& won, const request&) -> outcome {
    postgres_client in{url};
    in.ask("begin");
    make_order(in);
    complete(in.handle(), won, odd).value();
    in.ask("commit");
    return committed{odd};
  }};
  url = at.url;
  EXPECT_NE(at.post("k").headers().find("Set-Cookie"), nullptr);
  engine other{at.records};
  blocking::route elsewhere{other, order_policy(),
                            [](claim&, const request&) -> outcome { return not_executed{}; }};
  header_list lines;
  lines.add("X-Account", "anna");
  lines.add("Idempotency-Key", "\"k\"");
  const response replay = elsewhere(request{"POST", "/v1/orders", lines, "one"s});
  EXPECT_EQ(replay.body_text(), "\0\xFF\r\n"s);
  EXPECT_EQ(*replay.headers().find("X-Odd"), "caf\xE9");
  EXPECT_EQ(replay.headers().find("Set-Cookie"), nullptr) << "C109: no replay carries it";
  EXPECT_TRUE(is_marked(replay));
}

TEST(co_commit, S09_a_handler_that_throws_after_its_effect_has_had_none) {
  std::string url;
  int calls = 0;
  order_service at{[&](claim& won, const request&) -> outcome {
    if (++calls > 1) return order(url, won);
    postgres_client in{url};
    in.ask("begin");
    hold(in.handle(), won).value();
    make_order(in);
    throw std::runtime_error{"after the effect"};
  }};
  url = at.url;
  EXPECT_EQ(at.post("k").status(), 500);
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.post("k").status(), 201);
  EXPECT_EQ(at.orders(), 1u);
}

TEST(co_commit, X05_K9_a_lost_acknowledgement_of_commit_is_read_back_for_the_first_client) {
  std::string url;
  order_service at{[&](claim& won, const request&) -> outcome {
    order(url, won);
    return indeterminate{};
  }};
  url = at.url;
  const response first = at.post("k");
  EXPECT_EQ(first.status(), 201);
  EXPECT_FALSE(is_marked(first));
  EXPECT_EQ(first.body_text(), created().body_text());
  EXPECT_TRUE(is_marked(at.post("k")));
  EXPECT_EQ(at.orders(), 1u);
}

// K15: the handler is gone right after it sent its COMMIT, which takes 300 ms to be done.
TEST(co_commit, K15_a_commit_that_is_still_on_its_way_is_waited_for) {
  std::string url;
  std::thread slow;
  order_service at{[&](claim& won, const request&) -> outcome {
    auto in = std::make_shared<postgres_client>(url);
    in->ask("begin");
    hold(in->handle(), won).value();
    make_order(*in);
    complete(in->handle(), won, created()).value();
    slow = std::thread{[in] { in->ask("select pg_sleep(0.3); commit"); }};
    return indeterminate{};
  }};
  url = at.url;
  const response first = at.post("k");
  slow.join();
  EXPECT_EQ(first.status(), 201);
  EXPECT_FALSE(is_marked(first));
  EXPECT_EQ(at.orders(), 1u);
}

TEST(co_commit, K7_a_transaction_that_was_never_committed_leaves_the_claim_to_its_lease) {
  std::string url;
  int calls = 0;
  order_service at{[&](claim& won, const request&) -> outcome {
    if (++calls > 1) return order(url, won);
    postgres_client in{url};
    in.ask("begin");
    hold(in.handle(), won).value();
    make_order(in);
    return indeterminate{};
  }};
  url = at.url;
  EXPECT_EQ(at.post("k").status(), 504);
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.post("k").status(), 409);
  postgres_client{url}.ask("update callonce.record set lease_until_ms = 0");
  EXPECT_EQ(at.post("k").status(), 201);
  EXPECT_EQ(at.orders(), 1u);
}

// K17, L-05: a zombie finds its claim taken over, at hold or at complete.
TEST(co_commit, L05_a_zombies_effect_is_rolled_back_and_the_winners_answer_sent) {
  for (const bool holds : {true, false}) {
    std::string url;
    store* shared = nullptr;
    order_service at{[&](claim& won, const request& asked) -> outcome {
      postgres_client in{url};
      in.ask("begin");
      if (!holds) make_order(in);
      // Somebody else wins meanwhile, and is quicker.
      postgres_client{url}.ask("update callonce.record set lease_until_ms = 0");
      claim_request other;
      other.id = won.id();
      other.fingerprint = *fingerprint_of(asked, fingerprint_rule{});
      other.claim_id = new_claim_id(system_environment());
      other.terms = order_policy().terms();
      const claim_reply met = wait_for(shared->claim(other)).value();
      EXPECT_EQ(met.kind, claim_kind::takeover);
      postgres_client winner{url};
      winner.ask("begin");
      make_order(winner);
      winner.ask("select callonce.complete(" + quoted(handle_of(fence_of(other, 2))) +
                 ", 201, '[]', 'of the winner')");
      winner.ask("commit");
      if (holds) {
        const result<void> lost = hold(in.handle(), won);
        EXPECT_EQ(lost.error(), errc::claim_lost);
        lost.value();
      }
      const result<void> lost = complete(in.handle(), won, created());
      EXPECT_EQ(lost.error(), errc::claim_lost);
      in.attempt("commit");
      EXPECT_EQ(in.tag(), "ROLLBACK");
      return committed{created()};
    }};
    url = at.url;
    shared = &at.records;
    const response said = at.post("k");
    EXPECT_EQ(at.orders(), 1u) << holds;
    if (holds) {
      EXPECT_EQ(said.body_text(), "of the winner");
      EXPECT_TRUE(is_marked(said));
    }
  }
}

TEST(co_commit, ID002_the_whole_transaction_again_is_answered_by_the_record) {
  std::string url;
  order_service at{[&](claim& won, const request&) -> outcome {
    order(url, won);
    return order(url, won);  // As after a lost acknowledgement: it throws already_completed.
  }};
  url = at.url;
  const response said = at.post("k");
  EXPECT_EQ(said.status(), 201);
  EXPECT_FALSE(is_marked(said));
  EXPECT_EQ(at.orders(), 1u);
}

TEST(co_commit, X15_X16_what_the_handler_says_after_its_commit_does_not_count) {
  for (const int status : {500, 503, 201, 422}) {
    std::string url;
    order_service at{[&](claim& won, const request&) -> outcome {
      order(url, won);
      return response{status, "text/plain", "something else"s};
    }};
    url = at.url;
    const response said = at.post("k");
    EXPECT_EQ(said.status(), 201) << status;
    EXPECT_EQ(said.body_text(), created().body_text()) << status;
    EXPECT_FALSE(is_marked(said)) << status;
    EXPECT_EQ(at.facts.of(fact_kind::answer_differs), 1) << status;
    EXPECT_EQ(at.facts.of(fact_kind::co_committed), 1) << status;
    EXPECT_EQ(at.orders(), 1u);
  }
}

TEST(co_commit, a_handler_that_leaves_the_completion_to_the_engine_is_told_apart) {
  order_service at{[&](claim&, const request&) -> outcome { return created(); }};
  EXPECT_EQ(at.post("k").status(), 201);
  EXPECT_EQ(at.facts.of(fact_kind::completed), 1);
  EXPECT_EQ(at.facts.of(fact_kind::not_co_committed), 1);
}

TEST(co_commit, a_call_outside_a_transaction_is_refused) {
  std::string url;
  order_service at{[&](claim& won, const request&) -> outcome {
    postgres_client in{url};
    EXPECT_EQ(complete(in.handle(), won, created()).error(), errc::no_transaction);
    EXPECT_EQ(hold(in.handle(), won).error(), errc::claim_lost) << "ID004, at once";
    return order(url, won);
  }};
  url = at.url;
  EXPECT_EQ(at.post("k").status(), 201);
  EXPECT_EQ(at.orders(), 1u);
}

}  // namespace
}  // namespace callonce::postgres
