// A process over an SQLite file, for the tests that kill it or race it against another.
//
//   exam_child FILE work NAME     claims and completes keys NAME-0, NAME-1, … until it is killed
//   exam_child FILE work NAME N   the same, N keys
//   exam_child FILE race N        reads keys from the input and lets N claims race for each
//
// Every acknowledged operation is one line of output, written at once.

#include <cstdlib>
#include <iostream>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <unistd.h>

#include <callonce/stores/sqlite/store.hpp>

namespace {

using namespace std::chrono_literals;
using callonce::claim_reply;
using callonce::claim_verdict;
using callonce::result;
using callonce::write_reply;
namespace asio = boost::asio;

constexpr int workers = 16;

void say(std::string line) {
  line += '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(1);
}

callonce::claim_request wish_for(const std::string& key) {
  callonce::claim_request made;
  made.id = callonce::identity{callonce::scope_hash{}, callonce::key{key}};
  made.claim_id = callonce::new_claim_id(callonce::system_environment());
  made.terms.lease = 1h;
  made.terms.retention = made.terms.key_retention = 24h;
  return made;
}

struct todo {
  std::string name;
  int next = 0;
  int end = 0;
};

asio::awaitable<void> work(callonce::store& at, todo& left) {
  while (left.next < left.end) {
    const std::string key = left.name + '-' + std::to_string(left.next++);
    const callonce::claim_request wish = wish_for(key);
    const result<claim_reply> met = co_await at.claim(wish);
    if (!met) {
      say("fault claim " + key);
      continue;
    }
    say("claimed " + key + ' ' + callonce::to_hex(wish.claim_id));
    callonce::stored_answer answer;
    answer.status = 201;
    answer.body = callonce::body_bytes{"answer of " + key};
    const callonce::fence by{wish.id, wish.claim_id, met->current.attempt};
    const auto shared = std::make_shared<const callonce::stored_answer>(answer);
    const result<write_reply> done = co_await at.complete(by, shared);
    say((done ? "completed " : "fault complete ") + key + ' ' + callonce::to_hex(wish.claim_id));
  }
}

struct tally {
  int won = 0;
  int in_progress = 0;
  int other = 0;
};

asio::awaitable<void> race(callonce::store& at, const std::string& key, tally& into) {
  const callonce::claim_request wish = wish_for(key);
  const result<claim_reply> met = co_await at.claim(wish);
  if (met && met->verdict == claim_verdict::claimed) {
    ++into.won;
  } else if (met && met->verdict == claim_verdict::in_progress) {
    ++into.in_progress;
  } else {
    ++into.other;
  }
}

void race_for_keys(callonce::store& at, int racers) {
  say("ready");
  for (std::string key; std::getline(std::cin, key);) {
    asio::io_context io;
    tally met;
    for (int each = 0; each < racers; ++each)
      asio::co_spawn(io, race(at, key, met), asio::detached);
    io.run();
    say(std::to_string(met.won) + ' ' + std::to_string(met.in_progress) + ' ' +
        std::to_string(met.other));
  }
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given{words, words + count};
  if (given.size() < 4) return 2;
  callonce::sqlite::options with;
  with.timeout = 60s;
  callonce::sqlite::store at{given[1], with};
  if (given[2] == "race") {
    race_for_keys(at, std::stoi(given[3]));
    return 0;
  }
  asio::io_context io;
  todo left{given[3], 0, given.size() > 4 ? std::stoi(given[4]) : 1'000'000};
  for (int each = 0; each < workers; ++each) asio::co_spawn(io, work(at, left), asio::detached);
  io.run();
  return 0;
}
