// What stands in the tables, and who may not be believed.

#include <gtest/gtest.h>
#include <tests/support/postgres_shop.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class postgres_record : public testing::TestWithParam<statement_form> {
 protected:
  postgres_record() : admin_(url_) {}
  options with() const {
    options made;
    made.lanes = 1;
    made.statements = GetParam();
    return made;
  }
  void set(const std::string& what) {
    admin_.ask("do $$ begin execute format('alter database %I set " + what +
               "', current_database()); end $$");
  }

  const std::string url_ = postgres_server::shared().url(new_shop());
  postgres_client admin_;
};

INSTANTIATE_TEST_SUITE_P(forms, postgres_record,
                         testing::Values(statement_form::batches, statement_form::rows),
                         [](const auto& form) {
                           return form.param == statement_form::rows ? "rows" : "batches";
                         });

TEST_P(postgres_record, C15_C75_times_do_not_depend_on_the_zone_of_a_session) {
  set("timezone = ''Pacific/Chatham''");
  store first{url_, with()};
  const claim_reply won = wait_for(first.claim(wish_of("k", "a", 1h))).value();
  EXPECT_EQ(won.current.lease_until - won.judged_at.lease, 1h);
  set("timezone = ''America/St_Johns''");
  store second{url_, with()};
  const claim_reply met = wait_for(second.claim(wish_of("k"))).value();
  EXPECT_EQ(met.verdict, claim_verdict::in_progress);
  EXPECT_GT(met.current.lease_until - met.judged_at.lease, 59min);
  EXPECT_LT(met.judged_at.wall - won.judged_at.wall, 1min);
  EXPECT_EQ(admin_.ask("select expires_at_ms - created_at_ms - lease_ms - key_retention_ms "
                       "from callonce.record"),
            std::vector<std::string>{"0"});
}

// Neither executed nor given out, and its neighbours are served.
TEST_P(postgres_record, C83_damaged_records_are_corrupt_and_left_alone) {
  for (const char* damage :
       {"update callonce.answer set body = 'other'", "update callonce.answer set head = ''",
        "update callonce.answer set head = substr(head, 1, 9)", "delete from callonce.answer",
        "update callonce.answer set form = 255", "update callonce.record set state = 77",
        "update callonce.record set rule = 'no such rule 9'"}) {
    admin_.ask("delete from callonce.record; delete from callonce.answer");
    store records{url_, with()};
    const claim_request owner = wish_of("k");
    wait_for(records.claim(owner)).value();
    wait_for(records.complete(fence_of(owner), answer_of("whole"))).value();
    admin_.ask(damage);
    const result<claim_reply> met = wait_for(records.claim(wish_of("k")));
    const bool given = met && met->verdict == claim_verdict::completed && met->current.answer;
    EXPECT_FALSE(given) << damage;
    EXPECT_FALSE(met && met->verdict == claim_verdict::claimed) << damage;
    EXPECT_EQ(wait_for(records.claim(wish_of("other")))->verdict, claim_verdict::claimed) << damage;
  }
}

}  // namespace
}  // namespace callonce::postgres
