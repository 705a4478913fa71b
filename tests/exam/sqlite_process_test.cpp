// SQLite under more than one process, and under kill -9.

#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <callonce/testkit/exam/candidate.hpp>

#include "child_process.hpp"
#include "subjects.hpp"

namespace callonce::exam {
namespace {

using namespace std::chrono_literals;
using testkit::exam::wait_for;

std::string ask(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* handle = nullptr;
  sqlite3_open(file.c_str(), &handle);
  std::string said;
  const auto keep = [](void* into, int, char** columns, char**) {
    static_cast<std::string*>(into)->assign(columns[0] == nullptr ? "" : columns[0]);
    return 0;
  };
  if (sqlite3_exec(handle, sql.c_str(), keep, &said, nullptr) != SQLITE_OK) {
    said = sqlite3_errmsg(handle);
  }
  sqlite3_close(handle);
  return said;
}

struct acknowledged {
  std::string what;
  std::string key;
  std::string claim;
};

std::vector<acknowledged> read_acknowledged(const std::filesystem::path& from) {
  std::vector<acknowledged> all;
  std::ifstream in{from};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    acknowledged each;
    words >> each.what >> each.key >> each.claim;
    all.push_back(each);
  }
  return all;
}

claim_request wish_for(const std::string& key) {
  claim_request made;
  made.id = identity{scope_hash{}, callonce::key{key}};
  made.claim_id = new_claim_id(system_environment());
  made.terms.lease = 1h;
  made.terms.retention = made.terms.key_retention = 24h;
  return made;
}

// What the process was told is in the file, whatever happened to the process after.
void expect_all_there(callonce::store& at, const std::vector<acknowledged>& all) {
  for (const acknowledged& each : all) {
    record_filter exact;
    exact.exact = identity{scope_hash{}, callonce::key{each.key}};
    const record_page page = wait_for(at.find(exact)).value();
    ASSERT_EQ(page.records.size(), 1u) << each.what << ' ' << each.key;
    const record& found = page.records.front();
    EXPECT_EQ(to_hex(found.claim_id), each.claim) << each.key;
    if (each.what != "completed") continue;
    ASSERT_EQ(found.state, record_state::completed) << each.key;
    ASSERT_TRUE(found.answer) << each.key;
    EXPECT_EQ(found.answer->body.text(), "answer of " + each.key);
  }
}

// D-SQ2, K3 to K5: killed at any point, thirty times over one file.
TEST(sqlite_process, kill_9_loses_nothing_that_was_acknowledged) {
  const temporary_folder folder;
  const auto file = folder.path() / "killed.db";
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random{seed};
  std::size_t acknowledged_in_all = 0;
  for (int round = 0; round < 30; ++round) {
    const std::string name = "round" + std::to_string(round);
    const auto output = folder.path() / name;
    child_process victim{{EXAM_CHILD, file.string(), "work", name}, output.string()};
    while (read_acknowledged(output).empty()) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 40'000});
    victim.kill();
    EXPECT_EQ(victim.wait(), 128 + 9);

    const auto killed_at = system_environment().now();
    sqlite::store after{file};
    const claim_request wish = wish_for("after " + name);
    EXPECT_EQ(wait_for(after.claim(wish)).value().verdict, claim_verdict::claimed);
    EXPECT_LT(system_environment().now() - killed_at, 5s) << "the next request works at once";
    const std::vector<acknowledged> all = read_acknowledged(output);
    acknowledged_in_all += all.size();
    expect_all_there(after, all);
  }
  EXPECT_EQ(ask(file, "pragma integrity_check"), "ok");
  std::cout << acknowledged_in_all << " acknowledged operations, all there\n";
}

// D-SQ1, K32: BEGIN IMMEDIATE arbitrates between processes; no SQLITE_BUSY reaches anybody.
TEST(sqlite_process, two_hundred_racers_in_two_processes) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "raced.db").string();
  child_process left{{EXAM_CHILD, file, "race", "100"}};
  child_process right{{EXAM_CHILD, file, "race", "100"}};
  EXPECT_EQ(left.read_line(), "ready");
  EXPECT_EQ(right.read_line(), "ready");
  for (int round = 0; round < 20; ++round) {
    const std::string key = "key " + std::to_string(round);
    left.write_line(key);
    right.write_line(key);
    int won = 0;
    int in_progress = 0;
    int other = 0;
    for (child_process* each : {&left, &right}) {
      std::istringstream said{each->read_line()};
      int numbers[3]{};
      said >> numbers[0] >> numbers[1] >> numbers[2];
      won += numbers[0];
      in_progress += numbers[1];
      other += numbers[2];
    }
    EXPECT_EQ(won, 1) << key;
    EXPECT_EQ(in_progress, 199) << key;
    EXPECT_EQ(other, 0) << key;
  }
  EXPECT_EQ(left.wait(), 0);
  EXPECT_EQ(right.wait(), 0);
}

// Two writers, an application that holds the write lock now and then, a reader that keeps an
// old snapshot open.
TEST(sqlite_process, C80_processes_and_an_application_share_one_file) {
  const temporary_folder folder;
  const auto file = folder.path() / "shared.db";
  { const sqlite::store made{file}; }
  sqlite3* reader = nullptr;
  sqlite3* application = nullptr;
  sqlite3_open(file.c_str(), &reader);
  sqlite3_open(file.c_str(), &application);
  sqlite3_busy_timeout(application, 10'000);
  sqlite3_exec(reader, "begin; select count(*) from callonce_record", nullptr, nullptr, nullptr);

  constexpr int keys = 1500;
  const auto outputs = {folder.path() / "left", folder.path() / "right"};
  {
    std::vector<std::unique_ptr<child_process>> writers;
    for (const auto& output : outputs) {
      const std::string name = output.filename().string();
      writers.push_back(std::make_unique<child_process>(
          std::vector<std::string>{EXAM_CHILD, file.string(), "work", name, std::to_string(keys)},
          output.string()));
    }
    std::thread holding{[&] {
      for (int turn = 0; turn < 5; ++turn) {
        sqlite3_exec(application, "begin immediate", nullptr, nullptr, nullptr);
        std::this_thread::sleep_for(100ms);
        sqlite3_exec(application, "commit", nullptr, nullptr, nullptr);
        std::this_thread::sleep_for(50ms);
      }
    }};
    for (const auto& each : writers) EXPECT_EQ(each->wait(), 0);
    holding.join();
  }
  sqlite3_close(reader);
  sqlite3_close(application);

  sqlite::store after{file};
  for (const auto& output : outputs) {
    const std::vector<acknowledged> all = read_acknowledged(output);
    EXPECT_EQ(all.size(), 2u * keys) << "no claim and no completion had a fault";
    expect_all_there(after, all);
  }
  EXPECT_EQ(ask(file, "pragma integrity_check"), "ok");
}

}  // namespace
}  // namespace callonce::exam
