#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

const identity k = id_of("k");

// Sends every wish at once: from four threads, half of them over the second connection.
std::vector<claim_reply> race(candidate& at, const std::vector<claim_request>& wishes) {
  constexpr std::size_t threads_wanted = 4;
  std::mutex mutex;
  std::vector<claim_reply> all;
  auto keep = [&](const std::exception_ptr&, result<claim_reply> reply) {
    const std::lock_guard guard{mutex};
    if (reply) all.push_back(*std::move(reply));
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < threads_wanted; ++thread) {
    callonce::store& over = thread % 2 == 0 ? at.subject().first() : at.subject().second();
    threads.emplace_back([&, thread] {
      asio::io_context io;
      for (std::size_t each = thread; each < wishes.size(); each += threads_wanted) {
        asio::co_spawn(io, over.claim(wishes[each]), keep);
      }
      io.run();
    });
  }
  for (std::thread& each : threads) each.join();
  return all;
}

std::vector<claim_request> wishes_for(const identity& id, unsigned racers, unsigned first_claim,
                                      std::string_view print = "a") {
  std::vector<claim_request> all;
  for (unsigned each = 0; each < racers; ++each) {
    all.push_back(wish_of(id, first_claim + each, print));
  }
  return all;
}

std::size_t count(const std::vector<claim_reply>& all, claim_verdict verdict) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const claim_reply& each) { return each.verdict == verdict; }));
}

void expect_one_winner(const std::vector<claim_reply>& all, std::size_t racers) {
  EXPECT_EQ(all.size(), racers) << "everybody is answered, nobody by a fault";
  EXPECT_EQ(count(all, claim_verdict::claimed), 1u);
  EXPECT_EQ(count(all, claim_verdict::in_progress), racers - 1);
}

void two_hundred_racers_at_a_fresh_key(candidate& at) {
  const std::vector<claim_reply> all = race(at, wishes_for(k, 200, 1));
  expect_one_winner(all, 200);
  const claim_id winner = at.look_up(k)->claim_id;
  for (const claim_reply& each : all) EXPECT_EQ(each.current.claim_id, winner);
}

// C12: one conditional write, not look and then take.
void fifty_racers_at_a_lapsed_lease(candidate& at) {
  for (unsigned round = 0; round < 5; ++round) {
    const identity id = id_of("round " + std::to_string(round));
    at.win(wish_of(id, 1));
    at.pass(lease);
    expect_one_winner(race(at, wishes_for(id, 50, 100)), 50);
    EXPECT_EQ(at.look_up(id)->attempt, 2u);
  }
}

// C73: the retention is over and the row still there.
void fifty_racers_at_an_expired_key(candidate& at) {
  at.complete(at.win(wish_of(k, 1)), answer_of("old"));
  at.pass(key_retention + 1s);
  const std::vector<claim_reply> all = race(at, wishes_for(k, 50, 100, "b"));
  expect_one_winner(all, 50);
  for (const claim_reply& each : all) EXPECT_FALSE(each.current.answer);
}

// C09: duplicates in one batch change nothing for their neighbours.
void many_keys_with_duplicates_at_once(candidate& at) {
  std::vector<claim_request> all;
  for (unsigned each = 0; each < 40; ++each) {
    for (const claim_request& wish :
         wishes_for(id_of("key " + std::to_string(each)), 5, 1 + each)) {
      all.push_back(wish);
    }
  }
  const std::vector<claim_reply> met = race(at, all);
  EXPECT_EQ(met.size(), 200u);
  EXPECT_EQ(count(met, claim_verdict::claimed), 40u);
}

void purging_and_claiming_at_once_lose_nothing(candidate& at) {
  for (unsigned each = 0; each < 20; ++each) {
    at.release(at.win(wish_of(id_of("key " + std::to_string(each)), each + 1)), 1s);
  }
  at.pass(2s);
  std::thread purger{[&] { at.purge(); }};
  std::vector<claim_request> all;
  for (unsigned each = 0; each < 20; ++each) {
    for (const claim_request& wish :
         wishes_for(id_of("key " + std::to_string(each)), 3, 100 + 10 * each, "b")) {
      all.push_back(wish);
    }
  }
  const std::vector<claim_reply> met = race(at, all);
  purger.join();
  EXPECT_EQ(met.size(), 60u);
  EXPECT_EQ(count(met, claim_verdict::claimed), 20u);
  EXPECT_EQ(at.find({}).records.size(), 20u);
}

}  // namespace

const std::vector<row>& race_rows() {
  static const std::vector<row> all{
      {"C07_two_hundred_racers_at_a_fresh_key", two_hundred_racers_at_a_fresh_key},
      {"C12_fifty_racers_at_a_lapsed_lease", fifty_racers_at_a_lapsed_lease},
      {"C73_fifty_racers_at_an_expired_key", fifty_racers_at_an_expired_key},
      {"C09_many_keys_with_duplicates_at_once", many_keys_with_duplicates_at_once},
      {"C06_purging_and_claiming_at_once_lose_nothing", purging_and_claiming_at_once_lose_nothing}};
  return all;
}

}  // namespace callonce::testkit::exam
