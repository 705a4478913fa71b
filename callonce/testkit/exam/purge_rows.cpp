#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

const identity k = id_of("k");

// C72: what is alive, unknown or within its retention is never touched.
void purging_leaves_everything_alone_before_its_time(candidate& at) {
  const fence running = at.win(wish_of(id_of("running"), 1));
  at.complete(at.win(wish_of(id_of("completed"), 2)), answer_of("x"));
  at.release(at.win(wish_of(id_of("released"), 3)), retention);
  at.park(at.win(wish_of(id_of("parked"), 4)));
  at.pass(lease + 1s);
  const purge_reply done = at.purge();
  EXPECT_EQ(done.bodies + done.records + done.parked, 0u);
  EXPECT_EQ(at.complete(running, answer_of("late")).verdict, write_verdict::done);
}

// C72, K25: a claim outlives its retention as long as its owner renews it.
void purging_never_removes_a_renewed_claim(candidate& at) {
  claim_request short_lived = wish_of(k, 1);
  short_lived.terms.retention = short_lived.terms.key_retention = 1s;
  const fence by = at.win(short_lived);
  for (int each = 0; each < 5; ++each) {
    at.pass(lease - 1ms);
    EXPECT_EQ(at.renew(by).verdict, write_verdict::done);
    EXPECT_EQ(at.purge().records, 0u);
    EXPECT_EQ(at.claim(wish_of(k, 2)).verdict, claim_verdict::in_progress);
  }
  EXPECT_EQ(at.complete(by, answer_of("x")).verdict, write_verdict::done);
}

// Two retentions: the body goes first, the key stays and never runs again.
void the_body_goes_before_the_key(candidate& at) {
  at.complete(at.win(wish_of(k, 1)), answer_of("a body"));
  at.pass(retention);
  EXPECT_EQ(at.purge().bodies, 1u);
  EXPECT_EQ(at.purge().bodies, 0u) << "once";
  const claim_reply met = at.claim(wish_of(k, 2));
  EXPECT_EQ(met.verdict, claim_verdict::completed);
  ASSERT_TRUE(met.current.answer);
  EXPECT_EQ(met.current.answer->omitted, body_omitted::expired);
  EXPECT_EQ(met.current.answer->status, 201);
  EXPECT_EQ(*met.current.answer->headers.find("Location"), "/v1/charges/1");
  EXPECT_EQ(met.current.answer->resource, "/v1/charges/1");
  EXPECT_TRUE(met.current.answer->body.empty());

  at.pass(key_retention - retention);
  EXPECT_EQ(at.purge().records, 1u);
  EXPECT_FALSE(at.look_up(k));
  EXPECT_EQ(at.claim(wish_of(k, 3, "b")).kind, claim_kind::first);
}

void an_answer_that_never_had_a_body_keeps_replaying(candidate& at) {
  at.complete(at.win(wish_of(k, 1)), answer_of("", 204));
  at.pass(retention);
  EXPECT_EQ(at.purge().bodies, 0u);
  EXPECT_EQ(at.claim(wish_of(k, 2)).current.answer->omitted, body_omitted::none);
}

void released_and_abandoned_records_are_removed(candidate& at) {
  at.release(at.win(wish_of(id_of("released"), 1)), 60s);
  at.win(wish_of(id_of("abandoned"), 2));
  at.pass(60s);
  EXPECT_EQ(at.purge().records, 1u);
  EXPECT_FALSE(at.look_up(id_of("released")));
  at.pass(key_retention);
  EXPECT_EQ(at.purge().records, 1u);
  EXPECT_FALSE(at.look_up(id_of("abandoned")));
}

// So that the list of parked keys is complete without anybody asking for the key.
void lapsed_claims_that_park_are_parked_and_stay(candidate& at) {
  claim_request careful = wish_of(k, 1);
  careful.terms.park = true;
  const fence by = at.win(careful);
  EXPECT_EQ(at.purge().parked, 0u);
  at.pass(lease);
  EXPECT_EQ(at.purge().parked, 1u);
  EXPECT_EQ(at.look_up(k)->state, record_state::parked);
  at.pass(10 * key_retention);
  const purge_reply done = at.purge();
  EXPECT_EQ(done.records + done.parked, 0u);
  EXPECT_EQ(at.complete(by, answer_of("truth")).verdict, write_verdict::done);
}

// C74: many at once, in bounded steps, and nothing else with them.
void purging_goes_through_everything(candidate& at) {
  for (int each = 0; each < 20; ++each) {
    const identity old = id_of("old " + std::to_string(each));
    at.complete(at.win(wish_of(old)), answer_of("x"));
  }
  at.pass(key_retention);
  for (int each = 0; each < 5; ++each) at.win(wish_of(id_of("new " + std::to_string(each))));
  const purge_reply first = wait_for(at.store().purge(3)).value();
  EXPECT_LE(first.records, 3u);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.records + at.purge().records, 20u);
  EXPECT_EQ(at.find({}).records.size(), 5u);
}

}  // namespace

const std::vector<row>& purge_rows() {
  static const std::vector<row> all{
      {"C72_purging_leaves_everything_alone_before_its_time",
       purging_leaves_everything_alone_before_its_time},
      {"C72_purging_never_removes_a_renewed_claim", purging_never_removes_a_renewed_claim},
      {"the_body_goes_before_the_key", the_body_goes_before_the_key},
      {"an_answer_that_never_had_a_body_keeps_replaying",
       an_answer_that_never_had_a_body_keeps_replaying},
      {"released_and_abandoned_records_are_removed", released_and_abandoned_records_are_removed},
      {"lapsed_claims_that_park_are_parked_and_stay", lapsed_claims_that_park_are_parked_and_stay},
      {"C74_purging_goes_through_everything", purging_goes_through_everything}};
  return all;
}

}  // namespace callonce::testkit::exam
