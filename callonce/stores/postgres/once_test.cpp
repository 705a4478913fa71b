// One-transaction mode: claim, effect and completion in one round trip and one transaction.

#include <thread>

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <tests/support/postgres_shop.hpp>

#include <callonce/engine/blocking.hpp>
#include <callonce/engine/one_transaction.hpp>
#include <callonce/stores/postgres/co_commit.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

void send(PGconn* in, const statement& what) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const parameter& each : what.parameters) {
    values.push_back(each.value.c_str());
    lengths.push_back(static_cast<int>(each.value.size()));
    formats.push_back(each.is_bytes ? 1 : 0);
  }
  EXPECT_EQ(PQsendQueryParams(in, what.sql.c_str(), static_cast<int>(values.size()), nullptr,
                              values.data(), lengths.data(), formats.data(), 0),
            1);
}

// Claim with completion, and effect, up to one sync: that is one transaction. Post: its first
// fault.
std::string run_once(PGconn* in, const statement& claim, const std::string& effect) {
  EXPECT_EQ(PQenterPipelineMode(in), 1);
  send(in, claim);
  send(in, {effect, {}});
  EXPECT_EQ(PQpipelineSync(in), 1);
  std::string fault;
  for (int each = 0; each < 2; ++each) {
    PGresult* const said = PQgetResult(in);
    const char* const code = PQresultErrorField(said, PG_DIAG_SQLSTATE);
    if (code != nullptr && fault.empty()) fault = code;
    PQclear(said);
    PQclear(PQgetResult(in));
  }
  PQclear(PQgetResult(in));
  EXPECT_EQ(PQexitPipelineMode(in), 1);
  return fault;
}

constexpr const char* effect = "insert into orders (note) values ('once')";

policy order_policy() {
  policy_settings is;
  is.scope = scope_from_header("X-Account");
  is.effects = effect_class::atomic;
  return policy{is};
}

// An order service that needs no handler as long as the key is new.
struct order_service {
  response post(const std::string& key, const std::string& body = "one") {
    header_list lines;
    lines.add("X-Account", "anna");
    lines.add("Idempotency-Key", "\"" + key + "\"");
    const request asked{"POST", "/v1/orders", lines, body};
    const response created{201, "application/json", "{\"note\":\"once\"}"s};
    const auto wish = claim_for(by, asked);
    if (wish) {
      postgres_client own{url};
      own.ask("set lock_timeout = '100ms'");
      const statement claim = once_statement(*wish, frozen(by, created));
      if (run_once(own.handle(), claim, effect).empty()) return created;
    }
    return asks_the_record(asked);
  }
  std::size_t orders() { return postgres_client{url}.ask("select id from orders").size(); }

  const std::string url = postgres_server::shared().url(new_shop());
  const policy by = order_policy();
  store records{url};
  engine over{records};
  int handled = 0;
  blocking::route asks_the_record{over, by, [&](claim& won, const request&) -> outcome {
                                    ++handled;
                                    postgres_client in{url};
                                    in.ask("begin");
                                    hold(in.handle(), won).value();
                                    in.ask(effect);
                                    const response made{201, "text/plain", "by the route"s};
                                    complete(in.handle(), won, made).value();
                                    in.ask("commit");
                                    return committed{made};
                                  }};
};

bool is_marked(const response& answer) {
  return answer.headers().find("Idempotent-Replayed") != nullptr;
}

TEST(once, I7_the_first_answer_is_given_again_and_the_effect_is_one) {
  order_service at;
  const response first = at.post("k");
  EXPECT_EQ(first.status(), 201);
  const response again = at.post("k");
  EXPECT_TRUE(is_marked(again));
  EXPECT_EQ(again.body_text(), first.body_text());
  EXPECT_EQ(at.post("k", "another").status(), 422);
  EXPECT_EQ(at.orders(), 1u);
  EXPECT_EQ(at.handled, 0);
}

TEST(once, a_request_without_a_claim_is_the_routes_business) {
  order_service at;
  EXPECT_EQ(at.post("bad\x01key").status(), 400);
  EXPECT_EQ(at.orders(), 0u);
}

TEST(once, a_storm_on_one_key_makes_one_order) {
  order_service at;
  std::vector<std::thread> all;
  std::vector<int> unmarked(16);
  for (std::size_t each = 0; each < unmarked.size(); ++each) {
    all.emplace_back([&, each] {
      const response said = at.post("k");
      EXPECT_TRUE(said.status() == 201 || said.status() == 409) << said.status();
      unmarked[each] = said.status() == 201 && !is_marked(said) ? 1 : 0;
    });
  }
  for (std::thread& each : all) each.join();
  EXPECT_EQ(std::count(unmarked.begin(), unmarked.end(), 1), 1);
  EXPECT_EQ(at.orders(), 1u);
}

// A record that is there and not completed is not this mode's to take: the route takes it over.
TEST(once, a_released_key_runs_through_the_route) {
  order_service at;
  EXPECT_EQ(at.post("k").status(), 201);
  postgres_client{at.url}.ask(
      "update callonce.record set state = 3; delete from orders; delete from callonce.answer");
  const response next = at.post("k");
  EXPECT_EQ(next.body_text(), "by the route");
  EXPECT_FALSE(is_marked(next));
  EXPECT_EQ(at.orders(), 1u);
  EXPECT_EQ(at.handled, 1);
}

// Nobody can see an uncommitted fingerprint: another body is told 409 too, within the lock timeout.
TEST(once, DPG2_a_duplicate_of_an_uncommitted_one_is_in_progress) {
  order_service at;
  postgres_client owner{at.url};
  owner.ask("begin");
  header_list lines;
  lines.add("X-Account", "anna");
  lines.add("Idempotency-Key", "\"k\"");
  const auto wish = claim_for(at.by, request{"POST", "/v1/orders", lines, "one"s});
  owner.ask(insert_of(*wish));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(at.post("k").status(), 409);
  EXPECT_EQ(at.post("k", "another").status(), 409);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_EQ(at.orders(), 0u);
  owner.ask("rollback");
  EXPECT_EQ(at.post("k").status(), 201);
  EXPECT_EQ(at.orders(), 1u);
}

TEST(once, a_losers_pipelined_effect_never_runs) {
  order_service at;
  postgres_client in{at.url};
  const statement claim = once_statement(wish_of("k"), *answer_of("once"));
  EXPECT_EQ(run_once(in.handle(), claim, effect), "");
  EXPECT_EQ(run_once(in.handle(), claim, effect), "23505");
  EXPECT_EQ(fault_of("23505"), errc::claim_lost);
  EXPECT_EQ(at.orders(), 1u);
  // And an effect that fails takes the claim with it.
  const statement other = once_statement(wish_of("l"), *answer_of("once"));
  EXPECT_EQ(run_once(in.handle(), other, "insert into orders (note) values (1 / 0)"), "22012");
  EXPECT_EQ(run_once(in.handle(), other, effect), "");
}

}  // namespace
}  // namespace callonce::postgres
