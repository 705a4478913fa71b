// What goes over the wire in either form, as the server's log has it; and what only `rows` has.

#include <fstream>
#include <regex>
#include <thread>

#include <gtest/gtest.h>
#include <tests/support/postgres_shop.hpp>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using texts = std::vector<std::string>;

options with_form(statement_form form) {
  options with;
  with.lanes = 1;
  with.statements = form;
  return with;
}

// A server that writes down every statement before it runs it.
class logged_server {
 public:
  logged_server() {
    migrate(server_.url());
    postgres_client{server_.url()}.ask("alter system set log_statement = 'all'");
    postgres_client{server_.url()}.ask("select pg_reload_conf()");
  }

  std::string url() const { return server_.url(); }
  /// What clients have sent in the extended protocol since it was asked last.
  texts statements() {
    std::ifstream in{server_.folder() / "server.log", std::ios::binary};
    in.seekg(read_to_);
    const std::string all{std::istreambuf_iterator<char>{in}, {}};
    read_to_ += static_cast<std::streamoff>(all.size());
    texts made;
    const std::regex line{R"(LOG:  execute ([^:]*): ([^\n]*))"};
    for (auto found = std::sregex_iterator{all.begin(), all.end(), line};
         found != std::sregex_iterator{}; ++found) {
      EXPECT_EQ((*found)[1], "<unnamed>") << "poolers lose what is prepared";
      made.push_back((*found)[2]);
    }
    return made;
  }

 private:
  postgres_server server_;
  std::streamoff read_to_ = 0;
};

// Every operation of the port, with each of its ends.
void do_everything(store& over, const std::string& url) {
  const auto lapse = [&] {
    postgres_client{url}.ask("update callonce.record set lease_until_ms = 0");
  };
  const claim_request first = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(first))->verdict, claim_verdict::claimed);
  EXPECT_EQ(wait_for(over.claim(wish_of("k")))->verdict, claim_verdict::in_progress);
  EXPECT_EQ(wait_for(over.claim(wish_of("k", "b")))->verdict, claim_verdict::mismatch);
  EXPECT_EQ(wait_for(over.claim(first))->kind, claim_kind::repeat);
  EXPECT_EQ(wait_for(over.renew(fence_of(first)))->verdict, write_verdict::done);
  lapse();
  const claim_request second = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(second))->kind, claim_kind::takeover);
  EXPECT_EQ(wait_for(over.release(fence_of(second, 2), 1h))->verdict, write_verdict::done);
  const claim_request third = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(third))->kind, claim_kind::after_release);
  EXPECT_EQ(wait_for(over.park(fence_of(third, 3)))->verdict, write_verdict::done);
  const settlement decision{third.id, 3, new_claim_id(system_environment()), answer_of("x"), 1h};
  EXPECT_EQ(wait_for(over.settle(decision, {"o", "why"}))->verdict, write_verdict::done);
  EXPECT_EQ(wait_for(over.claim(wish_of("k")))->verdict, claim_verdict::completed);
  postgres_client{url}.ask("update callonce.record set expires_at_ms = 0");
  const claim_request fourth = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(fourth))->kind, claim_kind::after_expiry);
  const fence by = fence_of(fourth, 5);
  EXPECT_EQ(wait_for(over.complete(by, answer_of("y")))->verdict, write_verdict::done);
  EXPECT_TRUE(wait_for(over.complete(by, answer_of("y")))->already);
  EXPECT_EQ(wait_for(over.complete(by, answer_of("z")))->verdict, write_verdict::lease_lost);
}

bool says(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex{pattern});
}

// CockroachDB's have said yes to everybody for years.
TEST(statements, DPG6_neither_form_relies_on_an_advisory_lock) {
  logged_server at;
  for (const statement_form form : {statement_form::batches, statement_form::rows}) {
    store over{at.url(), with_form(form)};
    at.statements();
    do_everything(over, at.url());
    EXPECT_TRUE(wait_for(over.purge(100)).has_value());
    const texts sent = at.statements();
    EXPECT_GT(sent.size(), 20u);
    for (const std::string& each : sent) EXPECT_FALSE(says(each, "advisory")) << each;
    postgres_client{at.url()}.ask("truncate callonce.record, callonce.answer");
  }
  EXPECT_EQ(postgres_client{at.url()}
                .ask("select proname from pg_proc where pronamespace = 'callonce'::regnamespace "
                     "and prosrc ~ 'advisory'")
                .size(),
            0u);
}

TEST(statements, of_rows_each_names_one_row_of_one_table_and_calls_no_function_of_the_schema) {
  logged_server at;
  store over{at.url(), with_form(statement_form::rows)};
  at.statements();
  do_everything(over, at.url());
  const texts sent = at.statements();
  std::size_t about_rows = 0;
  const std::regex table{R"(callonce\.(\w+))"};
  for (const std::string& each : sent) {
    const std::ptrdiff_t named =
        std::distance(std::sregex_iterator{each.begin(), each.end(), table}, {});
    if (named == 0) continue;
    ++about_rows;
    EXPECT_EQ(named, 1) << each;
    EXPECT_TRUE(says(each, R"(callonce\.(record|answer|audit)\b)")) << each;
    const bool of_answer = says(each, R"(callonce\.answer)");
    const std::string one = of_answer ? R"((where id = \$1::bigint|\(id,.* values \(\$1::bigint))"
                                      : R"((where key_index = \$1::uuid|)"
                                        R"(\(key_index,.* values \(\$1::uuid))";
    EXPECT_TRUE(says(each, one)) << each;
    EXPECT_FALSE(says(each, "select.*select|unnest|any\\(| or |listen")) << each;
  }
  EXPECT_GT(about_rows, 30u);
}

TEST(statements, of_rows_purging_and_looking_up_join_nothing_and_call_nothing_of_the_schema) {
  logged_server at;
  store over{at.url(), with_form(statement_form::rows)};
  do_everything(over, at.url());
  at.statements();
  EXPECT_EQ(wait_for(over.find({}))->records.at(0).answer->body.text(), "y");
  postgres_client{at.url()}.ask("update callonce.record set body_until_ms = 0");
  EXPECT_EQ(wait_for(over.purge(100))->bodies, 1u);
  postgres_client{at.url()}.ask("update callonce.record set expires_at_ms = 0");
  EXPECT_EQ(wait_for(over.purge(100))->records, 1u);
  record_filter old;
  old.older_than = 1h;
  EXPECT_EQ(wait_for(over.find(old))->records.size(), 0u);
  for (const std::string& each : at.statements()) {
    EXPECT_FALSE(says(each, R"(callonce\.(?!(record|answer)\b)|callonce.*callonce)")) << each;
  }
  EXPECT_EQ(postgres_client{at.url()}.ask("select id from callonce.answer").size(), 0u);
}

// A duplicate must not make its owner's renewal or completion ask again.
TEST(statements, of_rows_a_claim_that_cannot_win_locks_nothing) {
  logged_server at;
  store over{at.url(), with_form(statement_form::rows)};
  const claim_request own = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(own))->verdict, claim_verdict::claimed);
  at.statements();
  EXPECT_EQ(wait_for(over.claim(wish_of("k")))->verdict, claim_verdict::in_progress);
  EXPECT_EQ(wait_for(over.claim(wish_of("k", "b")))->verdict, claim_verdict::mismatch);
  for (const std::string& each : at.statements()) {
    EXPECT_FALSE(says(each, "for no key update|^insert|^update|^delete")) << each;
  }
}

TEST(row_form, its_clocks_are_the_servers) {
  const std::string url = postgres_server::shared().url(new_shop());
  store over{url, with_form(statement_form::rows)};
  postgres_client watch{url};
  const auto now = [&] {
    return std::stoll(
        watch.ask("select (extract(epoch from clock_timestamp()) * 1000)::bigint")[0]);
  };
  const long long before = now();
  const claim_reply met = wait_for(over.claim(wish_of("k"))).value();
  const long long after = now();
  const long long lease = 60'000;
  EXPECT_GE(met.current.lease_until.time_since_epoch().count(), before + lease);
  EXPECT_LE(met.current.lease_until.time_since_epoch().count(), after + lease);
  EXPECT_GE(met.judged_at.wall.time_since_epoch().count(), before);
  EXPECT_LE(met.judged_at.wall.time_since_epoch().count(), after);
}

// While gateways are moved from one form to the other.
TEST(row_form, of_racers_in_both_forms_one_wins) {
  const std::string url = postgres_server::shared().url(new_shop());
  store batches{url, with_form(statement_form::batches)};
  store rows{url, with_form(statement_form::rows)};
  for (const char* key : {"new", "lapsed"}) {
    if (key == "lapsed"s) {
      EXPECT_EQ(wait_for(rows.claim(wish_of(key)))->verdict, claim_verdict::claimed);
      postgres_client{url}.ask("update callonce.record set lease_until_ms = 0");
    }
    asio::io_context io;
    std::size_t won = 0;
    std::size_t failed = 0;
    for (int each = 0; each < 100; ++each) {
      store& over = each % 2 == 0 ? batches : rows;
      asio::co_spawn(io, over.claim(wish_of(key)),
                     [&](const std::exception_ptr&, result<claim_reply> met) {
                       won += met && met->verdict == claim_verdict::claimed ? 1 : 0;
                       failed += met ? 0 : 1;
                     });
    }
    io.run();
    EXPECT_EQ(won, 1u) << key;
    EXPECT_EQ(failed, 0u) << key;
  }
}

TEST(row_form, K25_purging_leaves_a_held_row_alone) {
  const std::string url = postgres_server::shared().url(new_shop());
  store over{url, with_form(statement_form::rows)};
  const claim_request own = wish_of("k");
  EXPECT_EQ(wait_for(over.claim(own))->verdict, claim_verdict::claimed);
  postgres_client{url}.ask("update callonce.record set lease_until_ms = 0, expires_at_ms = 0");
  postgres_client application{url};
  application.ask("begin");
  application.ask("select callonce.hold(" + quoted(handle_of(fence_of(own))) + ")");
  EXPECT_EQ(wait_for(over.purge(100))->records, 0u);
  application.ask("rollback");
  EXPECT_EQ(wait_for(over.purge(100))->records, 1u);
}

// A gateway that stops with the row locked, or whose host is gone, must not keep the key.
TEST(row_form, K31_a_lane_that_stops_between_two_round_trips_gives_its_row_back) {
  const std::string name = new_shop();
  const std::string url = postgres_server::shared().url(name);
  testkit::tcp_gate gate{postgres_server::shared().port()};
  options patient = with_form(statement_form::rows);
  patient.timeout = 60s;
  store stopping{postgres_server::url_at(gate.port(), name), patient};
  store other{url, with_form(statement_form::rows)};
  EXPECT_EQ(wait_for(other.claim(wish_of("k")))->verdict, claim_verdict::claimed);
  postgres_client watcher{url};
  watcher.ask("update callonce.record set lease_until_ms = 0");
  const auto rule = gate.on_request("update callonce.record", testkit::gate_action::hold_for(20s));
  std::thread stopped{[&] {
    const auto met = wait_for(stopping.claim(wish_of("k")));
    EXPECT_FALSE(met && met->verdict == claim_verdict::claimed);
  }};
  EXPECT_TRUE(rule.wait_fired(10s));
  gate.black_hole();
  EXPECT_EQ(wait_for(other.claim(wish_of("k")))->verdict, claim_verdict::in_progress);
  claim_verdict met = claim_verdict::in_progress;
  for (int each = 0; each < 150 && met != claim_verdict::claimed; ++each) {
    watcher.ask("select pg_sleep(0.1)");
    met = wait_for(other.claim(wish_of("k")))->verdict;
  }
  EXPECT_EQ(met, claim_verdict::claimed);
  EXPECT_EQ(watcher.ask("select attempt from callonce.record"), texts{"2"});
  gate.open();
  stopped.join();
}

}  // namespace
}  // namespace callonce::postgres
