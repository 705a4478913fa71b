// What an application in any language does: statements on its own connection to the same file.

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callonce/engine/claim.hpp>
#include <callonce/stores/sqlite/store_test.hpp>

namespace callonce::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view lost = "ID001: callonce: claim lost";
constexpr std::string_view twice = "ID002: callonce: already completed by this claim";

class sqlite_co_commit : public sqlite_store {
 protected:
  // SQL judges retention by the host's clock.
  sqlite_co_commit() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    wall_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    at_ = open();
    application().run("create table orders (number integer)");
  }

  plain_connection& application() {
    if (!application_) application_ = std::make_unique<plain_connection>(file());
    return *application_;
  }

  static claim_request wanted(const std::string& key, unsigned char claim = 1) {
    claim_request made = wish_for(key, claim);
    made.terms.key_retention = 2min;
    made.terms.response_body_max = 1000;
    return made;
  }

  static std::string handle(const claim_request& wish, std::uint32_t attempt = 1) {
    return handle_of({wish.id, wish.claim_id, attempt});
  }

  std::string claimed(const std::string& key) {
    const claim_request wish = wanted(key);
    EXPECT_EQ(run(at_->claim(wish))->verdict, claim_verdict::claimed);
    return handle(wish);
  }

  void take_over(const std::string& key) {
    lease_ms_ += 10'000;
    const claim_request wish = wanted(key, 2);
    ASSERT_EQ(run(at_->claim(wish))->kind, claim_kind::takeover);
  }

  static std::string completion(const std::string& of, const std::string& status = "201",
                                const std::string& headers = R"('[["X-A","1"]]')",
                                const std::string& body = "cast('done' as blob)") {
    return "insert into callonce_complete (claim, status, headers, body) values ('" + of + "', " +
           status + ", " + headers + ", " + body + ")";
  }

  std::string state_of(const std::string& of) {
    return application().ask("select state from callonce_status where claim = json_quote('" + of +
                             "')");
  }

  std::string effects() { return application().ask("select count(*) from orders"); }

  record find(const std::string& key) {
    record_filter which;
    which.exact = wanted(key).id;
    return run(at_->find(which)).value().records.at(0);
  }

  void begin_with_effect() {
    application().run("begin immediate");
    application().run("insert into orders values (7)");
  }

  std::unique_ptr<store> at_;
  std::unique_ptr<plain_connection> application_;
};

TEST_F(sqlite_co_commit, I7_effect_and_completion_become_visible_together) {
  const std::string own = claimed("k");
  EXPECT_EQ(state_of(own), "claimed");
  begin_with_effect();
  application().run(completion(own));
  EXPECT_EQ(find("k").state, record_state::claimed) << "nothing is seen before the commit";
  application().run("commit");

  const claim_request again = wanted("k", 2);
  const result<claim_reply> met = run(at_->claim(again));
  EXPECT_EQ(met->verdict, claim_verdict::completed);
  stored_answer expected;
  expected.status = 201;
  expected.headers.add("X-A", "1");
  expected.body = std::string{"done"};
  ASSERT_TRUE(met->current.answer);
  EXPECT_EQ(*met->current.answer, expected);
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(state_of(own), "completed");
}

// The same columns as complete_with in core/transition writes.
TEST_F(sqlite_co_commit, retention_counts_from_the_completion_by_the_hosts_clock) {
  const std::string own = claimed("k");
  application().run(completion(own));
  const record made = find("k");
  EXPECT_NEAR(static_cast<double>(made.completed_at.time_since_epoch().count()),
              static_cast<double>(wall_ms_), 60'000);
  EXPECT_EQ(made.body_until - made.completed_at, 60s);
  EXPECT_EQ(made.expires_at - made.completed_at, 120s);
  EXPECT_EQ(made.attempt, 1U);
  EXPECT_EQ(made.claim_id, wanted("k").claim_id) << "the gateway knows its own claim again";
}

TEST_F(sqlite_co_commit, D_SQ3_the_effect_of_a_zombie_goes_whatever_it_makes_of_the_error) {
  const std::string own = claimed("k");
  take_over("k");
  EXPECT_EQ(state_of(own), "") << "lost";
  begin_with_effect();
  EXPECT_EQ(application().refusal(completion(own)), lost);
  EXPECT_EQ(application().refusal("commit"), "cannot commit - no transaction is active");
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(find("k").state, record_state::claimed);
  EXPECT_EQ(find("k").attempt, 2U);
}

TEST_F(sqlite_co_commit, D_SQ3_neither_a_savepoint_nor_an_or_clause_saves_a_zombie) {
  const std::string own = claimed("k");
  take_over("k");
  begin_with_effect();
  application().run("savepoint inner_one");
  EXPECT_EQ(application().refusal(completion(own)), lost);
  EXPECT_EQ(application().refusal("rollback to inner_one"), "no such savepoint: inner_one");
  EXPECT_NE(application().refusal("commit"), "");
  for (const std::string clause : {"ignore", "replace", "fail", "abort"}) {
    begin_with_effect();
    const std::string gentle = "insert or " + clause + completion(own).substr(6);
    EXPECT_EQ(application().refusal(gentle), lost) << clause;
    EXPECT_NE(application().refusal("commit"), "") << clause;
  }
  EXPECT_EQ(effects(), "0");
}

// K9: the acknowledgement of the first commit was lost; a repeat would carry a second effect.
TEST_F(sqlite_co_commit, K9_a_second_completion_takes_its_effect_with_it) {
  const std::string own = claimed("k");
  begin_with_effect();
  application().run(completion(own));
  application().run("commit");
  begin_with_effect();
  EXPECT_EQ(application().refusal(completion(own)), twice);
  EXPECT_NE(application().refusal("commit"), "");
  EXPECT_EQ(effects(), "1");
  EXPECT_EQ(state_of(own), "completed") << "so that the application may answer success";

  const std::string other = claimed("other");
  begin_with_effect();
  EXPECT_EQ(application().refusal(completion(other) + ";" + completion(own)), twice);
  EXPECT_EQ(state_of(other), "claimed") << "both or none";
}

TEST_F(sqlite_co_commit, what_has_ended_otherwise_is_lost) {
  const std::string released = claimed("released");
  const claim_request one = wanted("released");
  run(at_->release({one.id, one.claim_id, 1}, 60s)).value();
  EXPECT_EQ(state_of(released), "released");
  const std::string settled = claimed("settled");
  settlement decision;
  decision.id = wanted("settled").id;
  decision.expected_attempt = 1;
  decision.claim_id[0] = std::byte{9};
  decision.answer = answer_with("an operator's");
  const settle_reason reason{"ann", "the bank says so"};
  run(at_->settle(decision, reason)).value();
  EXPECT_EQ(state_of(settled), "");
  for (const std::string& own : {released, settled}) {
    begin_with_effect();
    EXPECT_EQ(application().refusal(completion(own)), lost);
  }
  EXPECT_EQ(effects(), "0");
}

TEST_F(sqlite_co_commit, a_malformed_forged_or_foreign_handle_is_a_lost_claim) {
  const std::string own = claimed("k");
  std::string other_digit = own;
  other_digit[40] = other_digit[40] == 'A' ? 'B' : 'A';
  std::string swapped_case = own;
  swapped_case[0] = '!';
  const std::vector<std::string> handles{"",
                                         "x",
                                         own + "A",
                                         own.substr(1),
                                         own.substr(0, 47) + "=",
                                         other_digit,
                                         swapped_case,
                                         handle(wanted("k"), 2),
                                         handle(wanted("k", 2)),
                                         handle(wanted("unknown")),
                                         std::string(48, '_'),
                                         "\"" + own.substr(2) + "\"",
                                         "{\"\":1}"};
  for (const std::string& forged : handles) {
    begin_with_effect();
    EXPECT_EQ(application().refusal(completion(forged)), lost) << forged;
    EXPECT_EQ(state_of(forged), "") << forged;
  }
  for (const char* odd : {"null", "7", "1.5", "x'00ff'", "zeroblob(48)"}) {
    begin_with_effect();
    EXPECT_EQ(application().refusal("insert into callonce_complete values (" + std::string{odd} +
                                    ", 200, '[]', null)"),
              lost)
        << odd;
  }
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(state_of(own), "claimed");
  EXPECT_EQ(application().refusal("select state from callonce_status where claim = '" + own + "'"),
            "malformed JSON")
      << "a handle that was not quoted must not read as lost";
}

TEST_F(sqlite_co_commit, every_byte_of_a_handle_is_read_back) {
  unsigned state = 1;
  const auto next = [&] {
    state = state * 1664525U + 1013904223U;
    return std::byte{static_cast<unsigned char>(state >> 24U)};
  };
  for (int number = 0; number < 100; ++number) {
    claim_request wish = wanted("key " + std::to_string(number));
    for (std::byte& each : wish.claim_id) each = next();
    run(at_->claim(wish)).value();
    EXPECT_EQ(state_of(handle(wish)), "claimed") << handle(wish);
  }
}

TEST_F(sqlite_co_commit, what_cannot_be_an_answer_ends_the_transaction) {
  const std::string own = claimed("k");
  for (const char* status : {"null", "199", "600", "-1", "'2x1'", "201.5", "x'c9'", "1e99"}) {
    begin_with_effect();
    EXPECT_EQ(application().refusal(completion(own, status)),
              "callonce: the status is not within 200 to 599");
  }
  for (const char* headers : {"null",
                              "7",
                              "''",
                              "'['",
                              "'{}'",
                              "'null'",
                              "'[[]]'",
                              R"('[["X-A"]]')",
                              R"('["X-A","1"]')",
                              R"('[["X-A","1","2"]]')",
                              R"('[["X-A",1]]')",
                              R"('[[null,"1"]]')",
                              R"('[{"X-A":"1"}]')",
                              R"('[[["X-A"],"1"]]')",
                              R"('[["","1"]]')",
                              R"('[["X A","1"]]')",
                              R"('[["X:","1"]]')",
                              R"('[["X-A","1\r\nX-B: 2"]]')",
                              R"('[["X-A","1\n"]]')",
                              R"('[["X-A","\u0000"]]')",
                              R"('[["X\u0000","1"]]')",
                              R"('[["X-A","\u007f"]]')",
                              R"('[["X-\u00e4","1"]]')",
                              R"(cast('[]' as blob))",
                              R"('[]' || char(0))",
                              R"('[] []')"}) {
    begin_with_effect();
    EXPECT_EQ(application().refusal(completion(own, "200", headers)).substr(0, 9), "callonce:")
        << headers;
    EXPECT_NE(application().refusal("commit"), "") << headers;
  }
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(state_of(own), "claimed");
  application().run(completion(own, "'201'", R"('[["X-A","tab\tand \u00e4"],["!#$%","-^"]]')"));
  EXPECT_EQ(find("k").answer->headers.size(), 2U) << "a number that a client sends as text will do";
}

// C64, C65
TEST_F(sqlite_co_commit, every_byte_of_a_body_survives) {
  const std::string own = claimed("k");
  application().run(completion(own, "200", "'[]'", "x'00ff0d0a80c328fe'"));
  EXPECT_EQ(find("k").answer->body.text(), std::string_view("\0\xff\r\n\x80\xc3(\xfe", 8));
  application().run(completion(claimed("text"), "200", "'[]'", "'text'"));
  EXPECT_EQ(find("text").answer->body.text(), "text");
  for (const char* empty : {"null", "x''", "''"}) {
    application().run(completion(claimed(empty), "204", "'[]'", empty));
    EXPECT_EQ(find(empty).answer->omitted, body_omitted::none) << empty;
    EXPECT_TRUE(find(empty).answer->body.empty()) << empty;
  }
}

TEST_F(sqlite_co_commit, a_body_over_the_records_own_bound_is_not_kept) {
  application().run(completion(claimed("fits"), "200", "'[]'", "zeroblob(1000)"));
  EXPECT_EQ(find("fits").answer->body.size(), 1000U);
  application().run(completion(claimed("long"), "200", "'[]'", "zeroblob(1001)"));
  EXPECT_EQ(find("long").answer->omitted, body_omitted::cap);
  EXPECT_TRUE(find("long").answer->body.empty());
  claim_request unbounded = wanted("unbounded");
  unbounded.terms.response_body_max = std::numeric_limits<std::uint64_t>::max();
  run(at_->claim(unbounded)).value();
  application().run(completion(handle(unbounded), "200", "'[]'", "zeroblob(1001)"));
  EXPECT_EQ(find("unbounded").answer->body.size(), 1001U);
}

// The truth came late, and nobody ran in between.
TEST_F(sqlite_co_commit, a_parked_record_can_be_completed) {
  const std::string own = claimed("k");
  const claim_request wish = wanted("k");
  run(at_->park({wish.id, wish.claim_id, 1})).value();
  EXPECT_EQ(state_of(own), "parked");
  begin_with_effect();
  application().run(completion(own));
  application().run("commit");
  EXPECT_EQ(find("k").state, record_state::completed);
}

TEST_F(sqlite_co_commit, a_lapsed_claim_that_nobody_took_over_can_be_completed) {
  const std::string own = claimed("k");
  lease_ms_ += 3'600'000;
  application().run(completion(own));
  EXPECT_EQ(find("k").state, record_state::completed);
}

TEST_F(sqlite_co_commit, body_and_record_are_purged_like_any_other) {
  application().run(completion(claimed("k")));
  application().run(completion(claimed("bodiless"), "204", "'[]'", "null"));
  EXPECT_EQ(run(at_->purge(1000))->bodies, 0U);
  wall_ms_ += 90'000;
  EXPECT_EQ(run(at_->purge(1000))->bodies, 1U);
  EXPECT_EQ(find("k").answer->omitted, body_omitted::expired);
  EXPECT_EQ(find("k").answer->headers.size(), 1U);
  EXPECT_EQ(find("bodiless").answer->omitted, body_omitted::none);
  wall_ms_ += 90'000;
  EXPECT_EQ(run(at_->purge(1000))->records, 2U);
  EXPECT_EQ(application().ask("select count(*) from callonce_answer"), "0");
  application().run(completion(claimed("k")));
  wall_ms_ += 180'000;
  const claim_request again = wanted("k", 2);
  EXPECT_EQ(run(at_->claim(again))->kind, claim_kind::after_expiry);
  EXPECT_EQ(application().ask("select count(*) from callonce_answer"), "0");
}

TEST_F(sqlite_co_commit, K7_an_application_that_dies_before_its_commit_leaves_nothing) {
  const std::string own = claimed("k");
  at_.reset();
  application_.reset();
  const pid_t child = fork();
  if (child == 0) {
    begin_with_effect();
    application().run(completion(own));
    kill(getpid(), SIGKILL);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  EXPECT_EQ(WTERMSIG(ended), SIGKILL);
  at_ = open();
  EXPECT_EQ(effects(), "0");
  EXPECT_EQ(state_of(own), "claimed");
  begin_with_effect();
  application().run(completion(own) + "; commit");
  EXPECT_EQ(effects(), "1");
}

TEST_F(sqlite_co_commit, claims_wait_for_the_applications_transaction_and_see_its_end) {
  const std::string own = claimed("k");
  begin_with_effect();
  application().run(completion(own));
  std::thread committing{[&] {
    std::this_thread::sleep_for(300ms);
    application().run("commit");
  }};
  const claim_request same = wanted("k", 2);
  const result<claim_reply> met = run(at_->claim(same));
  committing.join();
  EXPECT_EQ(met->verdict, claim_verdict::completed);
  EXPECT_EQ(effects(), "1");
}

}  // namespace
}  // namespace callonce::sqlite
