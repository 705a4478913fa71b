#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <callonce/stores/sqlite/place.hpp>
#include <callonce/stores/sqlite/store_test.hpp>

namespace callonce::sqlite {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string refusal(const fs::path& where) {
  try {
    const store refused{where};
  } catch (const misconfigured& why) {
    return why.what();
  }
  return "it was opened";
}

TEST_F(sqlite_store, a_new_file_is_its_owners_alone_and_says_what_it_is) {
  const auto at = open();
  complete(*at, "k", "secret");
  const fs::perms others = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(file()).permissions() & others, fs::perms::none);
  plain_connection other{file()};
  EXPECT_EQ(other.ask("pragma application_id"), std::to_string(0x63616c6c));
  EXPECT_EQ(other.ask("pragma journal_mode"), "wal");
}

TEST_F(sqlite_store, closing_leaves_no_log_behind) {
  {
    const auto at = open();
    complete(*at, "k", "body");
  }
  EXPECT_FALSE(fs::exists(file().string() + "-wal"));
  EXPECT_EQ(plain_connection{file()}.ask("pragma integrity_check"), "ok");
}

TEST_F(sqlite_store, migrations_are_recorded_and_run_once) {
  open();
  open();
  plain_connection other{file()};
  EXPECT_EQ(other.ask("select group_concat(number || ' ' || name) from callonce_migrations"),
            "1 0001_records,2 0002_rule_text,3 0003_co_commit");
}

TEST_F(sqlite_store, a_file_of_a_newer_version_is_refused) {
  open();
  plain_connection{file()}.run("insert into callonce_migrations values (9999, 'later', 0)");
  EXPECT_NE(refusal(file()).find("newer callonce"), std::string::npos) << refusal(file());
}

TEST_F(sqlite_store, tables_can_stand_in_an_applications_own_file) {
  plain_connection application{file()};
  application.run("pragma application_id = 77; create table orders (id integer)");
  complete(*open(), "k", "body");
  EXPECT_EQ(application.ask("pragma application_id"), "77");
  EXPECT_EQ(application.ask("select count(*) from callonce_record"), "1");
}

// D-SQ4
TEST_F(sqlite_store, network_file_systems_are_refused_by_name) {
  EXPECT_EQ(detail::network_file_system(0x6969), "NFS");
  EXPECT_EQ(detail::network_file_system(static_cast<int>(0xFF534D42)), "CIFS")
      << "the kernel's number, sign and all";
  EXPECT_EQ(detail::network_file_system(0x65735546), "FUSE");
  EXPECT_EQ(detail::network_file_system(0xEF53), "") << "ext4 is local";
  EXPECT_EQ(detail::network_file_system(0x01021994), "") << "tmpfs is local";
}

// D-SQ4: the kernel's own folders cannot be written by anybody, root included.
TEST_F(sqlite_store, a_place_that_cannot_be_written_is_refused_in_one_sentence) {
  const std::string said = refusal("/proc/records.db");
  EXPECT_NE(said.find("/proc/records.db cannot be opened for writing"), std::string::npos) << said;
  EXPECT_NE(refusal(folder_ / "missing" / "records.db").find("No such file"), std::string::npos);
}

TEST_F(sqlite_store, a_file_that_is_no_database_is_refused) {
  std::ofstream{file()} << std::string(8192, 'x');
  EXPECT_NE(refusal(file()).find("not a database"), std::string::npos) << refusal(file());
}

TEST_F(sqlite_store, identity_rules_are_written_down_and_held_to) {
  const auto at = open();
  EXPECT_EQ(at->identity_rules(), std::nullopt);
  at->bind_identity_rules("scope=header:X-Account");
  at->bind_identity_rules("scope=header:X-Account");
  EXPECT_THROW(open()->bind_identity_rules("scope=cookie:sid"), misconfigured);
  EXPECT_EQ(at->identity_rules(), "scope=header:X-Account");
  at->bind_identity_rules("scope=cookie:sid", true);
  EXPECT_EQ(open()->identity_rules(), "scope=cookie:sid");
}

// The clock of leases begins anew with each boot: what was left of a lease is not known then.
TEST_F(sqlite_store, a_lease_of_an_earlier_boot_lapses_a_whole_lease_after_this_boot) {
  const claim_request first = wish_for("k", 1);
  const claim_request second = wish_for("k", 2);
  run(open()->claim(first)).value();
  lease_ms_ = 9'999;
  EXPECT_EQ(run(open("second boot")->claim(second))->verdict, claim_verdict::in_progress);
  lease_ms_ = 10'000;
  const auto at = open("second boot");
  EXPECT_EQ(run(at->claim(second))->kind, claim_kind::takeover);
  EXPECT_EQ(run(at->renew({second.id, second.claim_id, 2}))->current->lease_until,
            instant{20'000ms});
}

TEST_F(sqlite_store, the_real_clocks_judge_real_leases) {
  store at{file()};
  claim_request first = wish_for("k", 1);
  first.terms.lease = 1h;
  const result<claim_reply> met = run(at.claim(first));
  EXPECT_EQ(met->current.lease_until - met->judged_at.lease, 1h);
  EXPECT_GT(met->judged_at.wall.time_since_epoch(), 24h * 365 * 50);
  const claim_request second = wish_for("k", 2);
  EXPECT_EQ(run(at.claim(second))->verdict, claim_verdict::in_progress);
}

// Two hosts' processes with other zones, as far as one process can play both.
TEST_F(sqlite_store, C75_times_do_not_depend_on_the_zone_of_the_process) {
  const char* const before = std::getenv("TZ");
  const std::string kept = before != nullptr ? before : "";
  const auto zone = [](const char* name) {
    setenv("TZ", name, 1);
    tzset();
  };
  zone("Pacific/Chatham");
  claim_request first = wish_for("k", 1);
  first.terms.lease = 1h;
  const result<claim_reply> won = run(store{file()}.claim(first));
  zone("America/St_Johns");
  const result<claim_reply> met = run(store{file()}.claim(wish_for("k", 2)));
  zone(kept.c_str());
  EXPECT_EQ(met->verdict, claim_verdict::in_progress);
  EXPECT_LE(met->current.lease_until - met->judged_at.lease, 1h);
  EXPECT_GT(met->current.lease_until - met->judged_at.lease, 59min);
  EXPECT_LT(met->judged_at.wall - won->judged_at.wall, 1min);
}

TEST_F(sqlite_store, C83_a_damaged_answer_is_never_given_out) {
  const std::vector<std::string> damages{
      "update callonce_answer set body = cast('other' as blob)",
      "update callonce_answer set body = zeroblob(1000000)",
      "update callonce_answer set head = x''",
      "update callonce_answer set head = cast('{}' as blob)",
      "update callonce_answer set head = cast(x'ff' || substr(head, 2) as blob)",
      "update callonce_answer set head = substr(head, 1, length(head) / 2)",
      "update callonce_answer set form = 255",
      "delete from callonce_answer"};
  int number = 0;
  for (const std::string& damage : damages) {
    const auto at = open();
    const std::string key = "k" + std::to_string(number++);
    complete(*at, key, "bytes");
    plain_connection{file()}.run(damage);
    const claim_request again = wish_for(key, 2);
    const result<claim_reply> met = run(at->claim(again));
    ASSERT_TRUE(met) << damage;
    EXPECT_EQ(met->verdict, claim_verdict::completed) << damage << ": never run again";
    EXPECT_FALSE(met->current.answer) << damage;
  }
}

// Neither executed nor changed, and its neighbours in the batch are served.
TEST_F(sqlite_store, C83_a_record_whose_state_cannot_be_read_is_corrupt_and_left_alone) {
  const std::vector<std::string> damages{"state = 9",         "scope = x'00'",      "attempt = 0",
                                         "fingerprint = x''", "claim_id = x'0102'", "key = x''"};
  int number = 0;
  for (const std::string& damage : damages) {
    const auto at = open();
    const std::string key = "k" + std::to_string(number++);
    complete(*at, key, "bytes");
    plain_connection other{file()};
    other.run("update callonce_record set " + damage +
              " where id = (select max(id) from callonce_record)");
    const claim_request again = wish_for(key, 2);
    EXPECT_EQ(run(at->claim(again)).error(), make_error_code(errc::corrupt)) << damage;
    complete(*at, "neighbour of " + key, "bytes");
    EXPECT_EQ(run(at->purge(1000)).value().records, 0u) << damage;
  }
}

TEST_F(sqlite_store, another_key_under_the_same_index_is_a_fault_and_no_match) {
  const auto at = open();
  complete(*at, "k", "bytes");
  plain_connection{file()}.run("update callonce_record set key = cast('other' as blob)");
  const claim_request again = wish_for("k", 2);
  EXPECT_EQ(run(at->claim(again)).error(), make_error_code(errc::corrupt));
}

// A write lock held elsewhere is waited for; nobody sees SQLITE_BUSY.
TEST_F(sqlite_store, C80_a_lock_held_by_an_application_is_waited_for) {
  const auto at = open();
  plain_connection application{file()};
  application.run("begin immediate");
  std::thread releasing{[&] {
    std::this_thread::sleep_for(400ms);
    application.run("commit");
  }};
  const claim_request wish = wish_for("k");
  EXPECT_EQ(run(at->claim(wish))->verdict, claim_verdict::claimed);
  releasing.join();
}

TEST_F(sqlite_store, patience_ends_while_an_application_holds_the_lock_and_reading_goes_on) {
  timeout_ = 300ms;
  const auto at = open();
  complete(*at, "done", "bytes");
  plain_connection application{file()};
  application.run("begin immediate");
  const claim_request wish = wish_for("k");
  const result<claim_reply> met = run(at->claim(wish));
  ASSERT_FALSE(met);
  record_filter which;
  EXPECT_EQ(run(at->find(which))->records.size(), 1u);
  application.run("commit");
  const claim_request other = wish_for("other");
  EXPECT_EQ(run(at->claim(other))->verdict, claim_verdict::claimed) << "everything settles";
}

// K20: a full disk refuses at once and has no effect; with room again everything goes on.
TEST_F(sqlite_store, a_full_disk_is_unavailable_and_changes_nothing) {
  fs::create_directory(folder_ / "small");
  const fs::path real_folder = folder_;
  folder_ /= "small";
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) {
    folder_ = real_folder;
    GTEST_SKIP() << "only root can make a small disk";
  }
  auto at = open();
  // Large and not to be compressed: the disk is full at a completion, not at the claim before it.
  std::string large(100'000, '\0');
  std::mt19937 noise{1};
  for (char& each : large) each = static_cast<char>(noise());
  result<write_reply> met = errc::corrupt;
  int number = 0;
  do {
    const claim_request wish = wish_for("k" + std::to_string(++number));
    if (!run(at->claim(wish))) break;
    met = run(at->complete({wish.id, wish.claim_id, 1}, answer_with(large)));
  } while (met && number < 100);
  ASSERT_FALSE(met) << number;
  EXPECT_EQ(met.error(), make_error_code(errc::unavailable));
  const std::string rows = plain_connection{file()}.ask("select count(*) from callonce_answer");
  EXPECT_EQ(rows, std::to_string(number - 1));

  ASSERT_EQ(mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  const claim_request last = wish_for("k" + std::to_string(number));
  EXPECT_EQ(run(at->complete({last.id, last.claim_id, 1}, answer_with(large)))->verdict,
            write_verdict::done);
  EXPECT_EQ(plain_connection{file()}.ask("pragma integrity_check"), "ok");
  at.reset();
  umount(folder_.c_str());
  folder_ = real_folder;
}

TEST_F(sqlite_store, deciding_leaves_an_audit_row) {
  const auto at = open();
  const claim_request wish = wish_for("k");
  run(at->claim(wish)).value();
  settlement decision;
  decision.id = wish.id;
  decision.expected_attempt = 1;
  decision.claim_id[0] = std::byte{9};
  const settle_reason reason{"ann", "the bank says no"};
  run(at->settle(decision, reason)).value();
  run(at->settle(decision, reason)).value();
  plain_connection other{file()};
  EXPECT_EQ(other.ask("select group_concat(who || ': ' || why || ' ' || attempt) "
                      "from callonce_audit"),
            "ann: the bank says no 2");
}

// C15: what lies in the file, in its documented units.
TEST_F(sqlite_store, raw_rows_are_in_milliseconds) {
  const auto at = open();
  complete(*at, "k", "bytes");
  plain_connection other{file()};
  EXPECT_EQ(other.ask("select lease_until_ms from callonce_record"), "1010000");
  EXPECT_EQ(other.ask("select expires_at_ms - created_at_ms from callonce_record"), "60000");
  EXPECT_EQ(other.ask("select length(key_index) || ' ' || length(scope) from callonce_record"),
            "16 32");
}

}  // namespace
}  // namespace callonce::sqlite
