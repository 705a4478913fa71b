// What an application in this process does: its handler completes in its own transaction.

#include <stdexcept>

#include <gtest/gtest.h>

#include <callonce/engine/blocking.hpp>
#include <callonce/stores/sqlite/co_commit.hpp>
#include <callonce/stores/sqlite/store_test.hpp>

namespace callonce::sqlite {
namespace {

using namespace std::chrono_literals;

class sqlite_complete : public sqlite_store {
 protected:
  sqlite_complete() : store_{file()}, application_{file()} {
    application_.run("create table orders (number integer)");
  }

  // By an engine of its own, which remembers nothing of earlier ones.
  response asked(const blocking::handler& does, std::string key = "k") {
    engine over{store_};
    const auto by = policy{}.scope(scope_from_header("X-Account")).lease(5s);
    blocking::route orders{over, by, does};
    header_list headers;
    headers.add("X-Account", "a");
    if (!key.empty()) headers.add("Idempotency-Key", std::move(key));
    return orders({"POST", "/v1/orders", std::move(headers), std::string{"{}"}});
  }

  response replayed(std::string key = "k") {
    const auto never = [](claim&, const request&) -> outcome { throw std::logic_error{"no run"}; };
    return asked(never, std::move(key));
  }

  static response created() {
    return response{201, "application/json", std::string{"{\"id\":7}"}}
        .header("Location", "/v1/orders/7")
        .header("X-A", "1")
        .header("X-A", "caf\xe9")
        .header("Connection", "X-Hop")
        .header("X-Hop", "1");
  }

  void begin_with_effect() { application_.run("begin immediate; insert into orders values (7)"); }
  std::string effects() { return application_.ask("select count(*) from orders"); }
  result<void> complete_with(const claim& won, const response& answer) {
    return sqlite::complete(application_.handle(), won, answer);
  }

  // Runs a handler that writes its effect, tries this answer, and commits whatever came of it.
  boost::system::error_code fault_of(const response& answer, const std::string& key) {
    boost::system::error_code met;
    asked(
        [&](claim& won, const request&) -> outcome {
          begin_with_effect();
          const result<void> done = complete_with(won, answer);
          if (!done) met = done.error();
          application_.refusal("commit");
          return not_executed{};
        },
        key);
    return met;
  }

  store store_;
  plain_connection application_;
};

TEST_F(sqlite_complete, I7_I10_effect_and_completion_commit_together_and_the_replay_is_equal) {
  const response first = asked([&](claim& won, const request&) -> outcome {
    begin_with_effect();
    const result<void> done = complete_with(won, created());
    EXPECT_TRUE(done);
    application_.run("commit");
    return committed{created()};
  });
  response second = replayed();
  EXPECT_EQ(second.status(), 201);
  EXPECT_EQ(second.body_text(), first.body_text());
  ASSERT_NE(second.headers().find("Idempotent-Replayed"), nullptr);
  second.headers().remove("Idempotent-Replayed");
  EXPECT_EQ(second.headers(), first.headers());
  EXPECT_EQ(second.headers().count("X-A"), 2U);
  EXPECT_EQ(second.headers().count("X-Hop"), 0U);
  EXPECT_EQ(effects(), "1");
}

// K15: the application dies after its commit; the first client is told the truth all the same.
TEST_F(sqlite_complete, K15_what_was_committed_is_read_back_when_no_answer_comes) {
  const response first = asked([&](claim& won, const request&) -> outcome {
    begin_with_effect();
    EXPECT_TRUE(complete_with(won, created()));
    application_.run("commit");
    return indeterminate{};
  });
  EXPECT_EQ(first.status(), 201);
  EXPECT_EQ(first.body_text(), "{\"id\":7}");
}

TEST_F(sqlite_complete, an_answer_of_its_own_never_goes_out_in_place_of_the_committed_one) {
  const response first = asked([&](claim& won, const request&) -> outcome {
    begin_with_effect();
    EXPECT_TRUE(complete_with(won, created()));
    application_.run("commit");
    return answer{response{500, "text/plain", std::string{"the session is closed"}}};
  });
  EXPECT_EQ(first.status(), 201);
  EXPECT_EQ(effects(), "1");
}

TEST_F(sqlite_complete, outside_a_transaction_nothing_is_written) {
  asked([&](claim& won, const request&) -> outcome {
    EXPECT_EQ(complete_with(won, created()).error(), make_error_code(errc::no_transaction));
    return not_executed{};
  });
  EXPECT_EQ(application_.ask("select count(*) from callonce_answer"), "0");
}

TEST_F(sqlite_complete, K9_a_second_completion_rolls_its_effect_back) {
  asked([&](claim& won, const request&) -> outcome {
    begin_with_effect();
    EXPECT_TRUE(complete_with(won, created()));
    application_.run("commit");
    begin_with_effect();
    EXPECT_EQ(complete_with(won, created()).error(), make_error_code(errc::already_completed));
    EXPECT_NE(application_.refusal("commit"), "");
    return committed{created()};
  });
  EXPECT_EQ(effects(), "1");
}

TEST_F(sqlite_complete, D_SQ3_a_lost_claim_rolls_the_effect_back) {
  asked([&](claim& won, const request&) -> outcome {
    application_.run("update callonce_record set attempt = 2, claim_id = zeroblob(16)");
    begin_with_effect();
    EXPECT_EQ(complete_with(won, created()).error(), make_error_code(errc::claim_lost));
    EXPECT_NE(application_.refusal("commit"), "");
    const std::string asks{status_sql};
    const std::string quoted = "'" + won.handle() + "'";
    EXPECT_EQ(application_.ask(std::string{asks}.replace(asks.find("?1"), 2, quoted)), "");
    return not_executed{};
  });
  EXPECT_EQ(effects(), "0");
}

TEST_F(sqlite_complete, an_answer_that_cannot_be_stored_rolls_the_effect_back) {
  EXPECT_EQ(fault_of(response{100}, "k1"), errc::corrupt);
  EXPECT_EQ(fault_of(response{200}.header("X-A", "1\r\nX-B: 2"), "k2"), errc::corrupt);
  EXPECT_EQ(fault_of(response{200}.header("X-A", std::string{"1\0", 2}), "k3"), errc::corrupt);
  EXPECT_EQ(fault_of(response{200}.header("X A", "1"), "k4"), errc::corrupt);
  EXPECT_EQ(effects(), "0");
}

TEST_F(sqlite_complete, another_file_and_a_locked_one_roll_the_effect_back) {
  plain_connection elsewhere{folder_ / "other.db"};
  plain_connection impatient{file()};
  impatient.run("pragma busy_timeout = 0");
  asked([&](claim& won, const request&) -> outcome {
    elsewhere.run("create table orders (number integer); begin; insert into orders values (7)");
    EXPECT_EQ(sqlite::complete(elsewhere.handle(), won, created()).error(),
              make_error_code(errc::misconfigured));
    EXPECT_NE(elsewhere.refusal("commit"), "");

    begin_with_effect();
    impatient.run("begin");
    EXPECT_EQ(sqlite::complete(impatient.handle(), won, created()).error(),
              make_error_code(errc::unavailable));
    EXPECT_NE(impatient.refusal("commit"), "");
    application_.run("rollback");
    return not_executed{};
  });
  EXPECT_EQ(elsewhere.ask("select count(*) from orders"), "0");
}

TEST_F(sqlite_complete, a_run_that_is_not_protected_has_nothing_to_complete) {
  const auto does = [&](claim& won, const request&) -> outcome {
    begin_with_effect();
    EXPECT_TRUE(complete_with(won, created()));
    application_.run("commit");
    return answer{created()};
  };
  EXPECT_EQ(asked(does, "").status(), 201);
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(application_.ask("select count(*) from callonce_record"), "0");
}

TEST_F(sqlite_complete, the_resource_is_kept_and_not_shown) {
  asked([&](claim& won, const request&) -> outcome {
    begin_with_effect();
    response answer = created();
    answer.header("Idempotency-Resource", "order 7");
    EXPECT_TRUE(complete_with(won, answer));
    application_.run("commit");
    return committed{answer};
  });
  record_filter all;
  const result<record_page> page = run(store_.find(all));
  EXPECT_EQ(page->records.at(0).answer->resource, "order 7");
  EXPECT_EQ(replayed().headers().find("Idempotency-Resource"), nullptr);
}

}  // namespace
}  // namespace callonce::sqlite
