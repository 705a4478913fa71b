// What an application may and may not do with callonce.hold, complete and status.

#include <array>

#include <gtest/gtest.h>
#include <tests/support/postgres_shop.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr const char* effect = "insert into orders (note) values ('one')";

// A won claim, and the application's connection.
struct won_claim {
  explicit won_claim(std::chrono::milliseconds lease = 60s) : wish(wish_of("k", "a", lease)) {
    const claim_reply met = wait_for(records.claim(wish)).value();
    by = fence_of(wish, met.current.attempt);
    handle = quoted(handle_of(by));
  }

  std::string hold() const { return "select callonce.hold(" + handle + ")"; }
  std::string complete(const std::string& more = ", 201, '[]', 'done'") const {
    return "select callonce.complete(" + handle + more + ")";
  }
  std::string status() { return application.ask("select callonce.status(" + handle + ")").at(0); }
  std::size_t orders() { return postgres_client{url}.ask("select id from orders").size(); }
  std::optional<record> look_up() {
    record_filter exact;
    exact.exact = wish.id;
    record_page page = wait_for(records.find(exact)).value();
    if (page.records.empty()) return std::nullopt;
    return page.records.front();
  }
  // Somebody else wins the key after the lease.
  fence take_over() {
    postgres_client{url}.ask("update callonce.record set lease_until_ms = 0");
    claim_request other = wish_of("k");
    const claim_reply met = wait_for(records.claim(other)).value();
    EXPECT_EQ(met.kind, claim_kind::takeover);
    return fence_of(other, met.current.attempt);
  }

  const std::string url = postgres_server::shared().url(new_shop());
  store records{url};
  claim_request wish;
  fence by;
  std::string handle;
  postgres_client application{url};
};

// The whole transaction as a careless application runs it: errors are not looked at.
// Post: what COMMIT was answered: its tag, or the SQLSTATE.
std::string run_carelessly(postgres_client& over, const std::vector<std::string>& statements) {
  for (const std::string& each : statements) over.attempt(each);
  const std::string fault = over.attempt("commit");
  return fault == "00000" ? over.tag() : fault;
}

TEST(entry_points, effect_and_completion_are_committed_together) {
  won_claim at;
  at.application.ask("begin");
  at.application.ask(at.hold());
  at.application.ask(effect);
  at.application.ask(
      at.complete(", 201, '[[\"Location\",\"/orders/1\"],[\"X-A\",\"b\"]]', '{\"q\":\"\\\"\"}'"));
  EXPECT_EQ(at.look_up()->state, record_state::claimed) << "nobody sees it before COMMIT";
  at.application.ask("commit");
  const auto found = at.look_up();
  EXPECT_EQ(found->state, record_state::completed);
  EXPECT_EQ(found->claim_id, at.by.claim_id);
  ASSERT_TRUE(found->answer);
  EXPECT_EQ(found->answer->status, 201);
  EXPECT_EQ(found->answer->body.text(), "{\"q\":\"\\\"\"}");
  EXPECT_EQ(found->answer->resource, "/orders/1");
  EXPECT_EQ(found->body_until - found->completed_at, std::chrono::hours{24});
  EXPECT_EQ(found->expires_at - found->completed_at, std::chrono::hours{168});
  EXPECT_EQ(at.status(), "completed");
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, K7_a_rollback_leaves_the_claim_and_no_effect) {
  won_claim at;
  at.application.ask("begin");
  at.application.ask(at.hold());
  at.application.ask(effect);
  at.application.ask(at.complete());
  at.application.ask("rollback");
  EXPECT_EQ(at.status(), "claimed");
  EXPECT_EQ(at.orders(), 0u);
}

TEST(entry_points, DPG5_CO1_a_zombies_effect_is_undone_even_if_it_looks_at_nothing) {
  won_claim at;
  const fence winner = at.take_over();
  EXPECT_EQ(at.application.attempt("begin;" + at.hold()), "ID001");
  at.application.ask("rollback");
  EXPECT_EQ(run_carelessly(at.application, {"begin", effect, at.complete()}), "ROLLBACK");
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.status(), "lost");
  EXPECT_EQ(at.look_up()->claim_id, winner.claim_id);
  EXPECT_EQ(at.look_up()->state, record_state::claimed);
}

TEST(entry_points, K17_a_zombie_that_began_before_the_takeover_is_undone_at_every_isolation) {
  for (const char* level : {"read committed", "repeatable read", "serializable"}) {
    won_claim at;
    at.application.ask("begin isolation level "s + level);
    at.application.ask(effect);
    const fence winner = at.take_over();
    const std::string fault = at.application.attempt(at.complete());
    EXPECT_TRUE(fault == "ID001" || fault == "40001") << level << ": " << fault;
    at.application.attempt("commit");
    EXPECT_EQ(at.application.tag(), "ROLLBACK") << level;
    EXPECT_EQ(at.orders(), 0u) << level;
    EXPECT_EQ(at.look_up()->claim_id, winner.claim_id) << level;
  }
}

TEST(entry_points, held_first_a_stricter_isolation_level_is_no_obstacle) {
  for (const char* level : {"repeatable read", "serializable"}) {
    won_claim at;
    EXPECT_EQ(wait_for(at.records.renew(at.by))->verdict, write_verdict::done);
    at.application.ask("begin isolation level "s + level);
    at.application.ask(at.hold());
    EXPECT_EQ(wait_for(at.records.renew(at.by))->verdict, write_verdict::busy);
    at.application.ask(effect);
    at.application.ask(at.complete());
    at.application.ask("commit");
    EXPECT_EQ(at.application.tag(), "COMMIT") << level;
    EXPECT_EQ(at.orders(), 1u) << level;
  }
}

// Nothing is repeatable in a caller's own transaction.
TEST(entry_points, ID002_the_whole_transaction_again_after_a_lost_acknowledgement) {
  won_claim at;
  const auto once = [&] {
    return run_carelessly(at.application, {"begin", at.hold(), effect, at.complete()});
  };
  EXPECT_EQ(once(), "COMMIT");
  EXPECT_EQ(once(), "ROLLBACK");
  EXPECT_EQ(run_carelessly(at.application, {"begin", effect, at.complete()}), "ROLLBACK");
  EXPECT_EQ(at.application.attempt("begin;" + at.hold()), "ID002");
  at.application.ask("rollback");
  EXPECT_EQ(at.application.attempt("begin;"s + effect + ";" + at.complete()), "ID002");
  at.application.ask("rollback");
  EXPECT_EQ(at.status(), "completed");
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, twice_in_one_transaction_is_once_too_often) {
  won_claim at;
  EXPECT_EQ(run_carelessly(at.application, {"begin", effect, at.complete(), at.complete()}),
            "ROLLBACK");
  EXPECT_EQ(at.orders(), 0u);
}

TEST(entry_points, ID003_in_autocommit_it_fails_on_the_first_request) {
  won_claim at;
  EXPECT_EQ(at.application.attempt(at.complete()), "ID003");
  EXPECT_EQ(at.application.attempt("begin;" + at.complete()), "ID003") << "no effect yet";
  at.application.ask("rollback");
  EXPECT_EQ(at.status(), "claimed");
  EXPECT_EQ(at.application.attempt(at.complete(", 422, '[]', 'no', no_effect => true")), "00000");
  EXPECT_EQ(at.status(), "completed");
}

TEST(entry_points, ID004_a_promise_that_is_not_kept_fails_the_commit) {
  won_claim at;
  EXPECT_EQ(at.application.attempt(at.hold()), "ID004") << "in autocommit it is over at once";
  at.application.ask("begin");
  at.application.ask(at.hold());
  at.application.ask(effect);
  EXPECT_EQ(at.application.attempt("commit"), "ID004");
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.status(), "claimed");
}

// The hole that savepoints of an ORM tear: the error is swallowed, or the completion undone.
TEST(entry_points, ID004_no_savepoint_saves_a_transaction_without_completion) {
  won_claim at;
  EXPECT_EQ(run_carelessly(at.application, {"begin", at.hold(), effect, "savepoint a",
                                            at.complete(), "rollback to a"}),
            "ID004");
  EXPECT_EQ(
      run_carelessly(at.application, {"begin", at.hold(), effect, "savepoint a",
                                      at.complete(", 99, '[]', ''"), "rollback to a", "release a"}),
      "ID004");
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(run_carelessly(at.application, {"begin", at.hold(), "savepoint a", effect, "release a",
                                            "savepoint b", at.complete(), "release b"}),
            "COMMIT");
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, A07_what_is_no_handle_of_this_claim_is_refused_and_changes_nothing) {
  won_claim at;
  claim_request other = wish_of("somebody else's");
  wait_for(at.records.claim(other)).value();
  fence foreign{other.id, at.by.claim_id, 1};
  fence stale{at.wish.id, at.by.claim_id, 2};
  fence guessed{at.wish.id, new_claim_id(system_environment()), 1};
  fence huge{at.wish.id, at.by.claim_id, 0xFFFFFFFF};
  for (const std::string& handle :
       {""s, "x"s, "not base64 %%%%"s, std::string(48, '='), std::string(47, 'A'),
        std::string(49, 'A'), std::string(48, 'A'), std::string(1 << 20, 'A'), handle_of(foreign),
        handle_of(stale), handle_of(guessed), handle_of(huge), handle_of(at.by) + " "}) {
    const std::string text = quoted(handle);
    EXPECT_EQ(
        at.application.attempt("begin;"s + effect + ";select callonce.complete(" + text + ", 201)"),
        "ID001")
        << handle.substr(0, 60);
    at.application.ask("rollback");
    EXPECT_EQ(at.application.attempt("begin;select callonce.hold(" + text + ")"), "ID001");
    at.application.ask("rollback");
    EXPECT_EQ(at.application.ask("select callonce.status(" + text + ")").at(0), "lost");
  }
  EXPECT_EQ(at.application.attempt("begin;"s + effect + ";select callonce.complete(null, 201)"),
            "ID001");
  at.application.ask("rollback");
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.status(), "claimed");
  // As the header carries it, in the quotes of a Structured Field.
  EXPECT_EQ(at.application.ask("select callonce.status('\"" + handle_of(at.by) + "\"')").at(0),
            "claimed");
}

TEST(entry_points, what_no_answer_can_be_fails_the_transaction) {
  won_claim at;
  for (const char* more :
       {", 199", ", 600", ", null", ", 201, '{}'", ", 201, '[[\"A\"]]'", ", 201, '[1]'",
        ", 201, '[[\"A\",1]]'", ", 201, '[[\"A B\",\"c\"]]'", ", 201, '[[\"\",\"c\"]]'",
        ", 201, '[[\"A\",\"b\\r\\nC: d\"]]'", ", 201, '[[\"A\",\"\\u0001\"]]'"}) {
    EXPECT_EQ(at.application.attempt("begin;"s + effect + ";" + at.complete(more)), "22023")
        << more;
    at.application.ask("rollback");
  }
  EXPECT_EQ(at.application.attempt("begin;"s + effect + ";" + at.complete(", 201, 'no json'")),
            "22P02");
  at.application.ask("rollback");
  EXPECT_EQ(at.application.attempt("begin;"s + effect + ";" +
                                   at.complete(", 201, '[[\"A\",\"\\u0000\"]]'")),
            "22P05");
  at.application.ask("rollback");
  EXPECT_EQ(at.orders(), 0u);
  EXPECT_EQ(at.status(), "claimed");
}

TEST(entry_points, bodies_are_bytes_or_text_and_may_be_left_out) {
  const std::vector<std::pair<std::string, std::string>> bodies{
      {", 201, '[]', '\\x00ff5c27'::bytea", "\0\xFF\\'"s},
      {", 201, '[]', 'a\\b\\\\c'", "a\\b\\\\c"},
      {", 201, '[]', 'caf\xC3\xA9'", "caf\xC3\xA9"},
      {", 201, '[]', ''", ""},
      {", 201, '[]', null::text", ""},
      {", 201, null, null::bytea", ""},
      {", 204", ""}};
  for (const auto& [more, expected] : bodies) {
    won_claim at;
    at.application.ask("begin;"s + effect + ";" + at.complete(more) + ";commit");
    const auto found = at.look_up();
    ASSERT_TRUE(found->answer) << more;
    EXPECT_EQ(found->answer->body.text(), expected) << more;
    EXPECT_EQ(found->answer->omitted, body_omitted::none) << more;
  }
}

TEST(entry_points, S13_a_body_beyond_the_records_cap_is_not_kept) {
  won_claim at;
  postgres_client{at.url}.ask("update callonce.record set response_body_max = 3");
  at.application.ask("begin;"s + effect + ";" + at.complete(", 201, '[]', 'four'") + ";commit");
  const auto found = at.look_up();
  EXPECT_EQ(found->answer->omitted, body_omitted::cap);
  EXPECT_EQ(found->answer->status, 201);
  EXPECT_TRUE(found->answer->body.empty());
}

TEST(entry_points, a_parked_key_is_completed_by_the_truth_that_comes_late) {
  won_claim at;
  wait_for(at.records.park(at.by)).value();
  EXPECT_EQ(at.status(), "parked");
  EXPECT_EQ(run_carelessly(at.application, {"begin", at.hold(), effect, at.complete()}), "COMMIT");
  EXPECT_EQ(at.status(), "completed");
}

TEST(entry_points, a_released_claim_is_lost) {
  won_claim at;
  wait_for(at.records.release(at.by, 60s)).value();
  EXPECT_EQ(at.status(), "released");
  EXPECT_EQ(run_carelessly(at.application, {"begin", effect, at.complete()}), "ROLLBACK");
  EXPECT_EQ(at.orders(), 0u);
}

TEST(entry_points, L06_a_lapsed_claim_that_nobody_took_is_still_good) {
  won_claim at;
  postgres_client{at.url}.ask("update callonce.record set lease_until_ms = 0");
  EXPECT_EQ(run_carelessly(at.application, {"begin", at.hold(), effect, at.complete()}), "COMMIT");
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, a_silent_application_loses_its_row_after_the_lease) {
  won_claim at{2s};
  at.application.ask("begin");
  at.application.ask(at.hold());
  EXPECT_EQ(at.application.ask("show idle_in_transaction_session_timeout").at(0), "2s");
  at.application.ask(effect);
  postgres_client watcher{at.url};
  for (int each = 0; each < 100; ++each) {
    watcher.ask("select pg_sleep(0.1)");
    if (wait_for(at.records.renew(at.by))->verdict == write_verdict::done) break;
  }
  EXPECT_EQ(wait_for(at.records.renew(at.by))->verdict, write_verdict::done);
  EXPECT_NE(at.application.attempt("commit"), "00000") << "the server has let it go";
  EXPECT_EQ(at.orders(), 0u);
}

TEST(entry_points, a_shorter_patience_of_the_applications_own_stays) {
  won_claim at;
  at.application.ask("set idle_in_transaction_session_timeout = '1500ms'");
  at.application.ask("begin");
  at.application.ask(at.hold());
  EXPECT_EQ(at.application.ask("show idle_in_transaction_session_timeout").at(0), "1500ms");
  at.application.ask("rollback");
  at.application.ask("set idle_in_transaction_session_timeout = '1h'");
  at.application.ask("begin");
  at.application.ask(at.hold());
  EXPECT_EQ(at.application.ask("show idle_in_transaction_session_timeout").at(0), "1min");
  at.application.ask("rollback");
  EXPECT_EQ(at.application.ask("show idle_in_transaction_session_timeout").at(0), "1h");
}

// One handle, two processes of the application at once.
TEST(entry_points, of_two_that_have_the_handle_one_commits) {
  won_claim at;
  postgres_client twin{at.url};
  at.application.ask("begin");
  at.application.ask(at.hold());
  at.application.ask(effect);
  twin.ask("begin; set local lock_timeout = '50ms'");
  twin.ask(effect);
  EXPECT_EQ(twin.attempt(at.hold()), "55P03") << "it waits for the first";
  twin.ask("rollback");
  at.application.ask(at.complete());
  at.application.ask("commit");
  EXPECT_EQ(run_carelessly(twin, {"begin", effect, at.complete()}), "ROLLBACK");
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, A12_the_applications_role_reaches_nothing_but_the_entry_points) {
  won_claim at;
  migrate_options with;
  with.application_role = "shop_app";
  migrate(at.url, with);
  postgres_client admin{at.url};
  admin.ask("grant all on orders to shop_app; grant create, usage on schema public to shop_app");
  at.application.ask("set role shop_app");
  for (const char* each :
       {"select * from callonce.record", "update callonce.record set attempt = 9",
        "insert into callonce.meta values ('a', 'b')", "delete from callonce.answer",
        "truncate callonce.record", "select * from callonce.whole",
        "copy callonce.record to stdout", "select * from callonce.record for update",
        "create table callonce.mine (a int)", "drop function callonce.hold",
        "alter table callonce.record add column a int", "select callonce.read_handle('x')",
        "select callonce.finish('x')", "select callonce.purge_some(0, 10)",
        "create or replace function callonce.hold(claim text) returns void language sql as ''"}) {
    EXPECT_EQ(at.application.attempt(each), "42501") << each;
  }
  EXPECT_EQ(at.application.attempt("begin; lock table callonce.record"), "42501");
  at.application.ask("rollback");
  // Its own functions of the same names are not called with the owner's rights.
  at.application.ask(
      "create function public.decode(text, text) returns bytea language sql as "
      "'update callonce.record set attempt = 9 returning key'; set search_path = public, "
      "pg_catalog");
  EXPECT_EQ(run_carelessly(at.application, {"begin", at.hold(), effect, at.complete()}), "COMMIT");
  EXPECT_EQ(at.status(), "completed");
  EXPECT_EQ(at.look_up()->attempt, 1u);
  EXPECT_EQ(at.orders(), 1u);
}

TEST(entry_points, K25_purging_leaves_a_held_row_alone) {
  won_claim at;
  at.application.ask("begin");
  at.application.ask(at.hold());
  at.application.ask(effect);
  at.application.ask(at.complete());
  postgres_client{at.url}.ask("update callonce.record set held = held where false");
  for (int each = 0; each < 3; ++each) {
    EXPECT_EQ(wait_for(at.records.purge(100))->records, 0u);
  }
  at.application.ask("commit");
  EXPECT_EQ(at.look_up()->state, record_state::completed);
}

}  // namespace
}  // namespace callonce::postgres
