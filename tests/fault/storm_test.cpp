// Two gateways, one database, and kill -9 of whatever takes part, at random moments: every key ends
// with one order and one answer, and nobody hears of an order that is not there.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <tests/fault/shop.hpp>

#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::fault {
namespace {

constexpr auto patience = 60s;

std::uint64_t chosen_seed() {
  const char* wanted = std::getenv("CALLONCE_STORM_SEED");
  const std::uint64_t seed =
      wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
  std::cout << "seed " << seed << " (CALLONCE_STORM_SEED runs it again)\n";
  return seed;
}

// Two gateways on ports that change when they come back.
class pair_of_gateways {
 public:
  pair_of_gateways(shop& in, const std::string& store) : in_(in) {
    with_.store = store;
    with_.defaults = "readback = \"200ms\"\n";
    for (int which : {0, 1}) start(which);
  }

  void start(int which) {
    auto made = in_.gateway(with_);
    const std::lock_guard guard{mutex_};
    ports_[which] = made->port();
    running_[which] = std::move(made);
  }
  void kill(int which) {
    running_[which]->signal(SIGKILL);
    running_[which]->wait();
  }
  // Status 0: nobody answered.
  reply post(int which, const std::string& key) {
    std::uint16_t port = 0;
    {
      const std::lock_guard guard{mutex_};
      port = ports_[which];
    }
    try {
      return cli::test::ask(port, "POST", "/orders",
                            {"X-Api-Key: tenant", "Idempotency-Key: " + key}, "two books");
    } catch (const std::runtime_error&) {
      return {};
    }
  }

 private:
  shop& in_;
  gateway_options with_;
  std::mutex mutex_;
  std::map<int, std::uint16_t> ports_;
  std::map<int, std::unique_ptr<cli::test::served>> running_;
};

// What clients were told of each key.
class witness {
 public:
  void saw(const std::string& key, const reply& said) {
    const std::lock_guard guard{mutex_};
    ++statuses_[said.status];
    if (said.status == 201) answers_[key].insert(said.body);
    if (said.status == 201 && !is_marked(said)) ++unmarked_[key];
  }
  void judge(shop& in, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      EXPECT_EQ(answers_[key].size(), 1u) << key << ": one answer, the same for all";
      EXPECT_LE(unmarked_[key], 1) << key << ": one run is the first";
      EXPECT_EQ(in.orders(key), 1u) << key;
    }
    for (const auto& [status, count] : statuses_) {
      EXPECT_TRUE(status == 0 || status == 201 || status == 409 || status >= 500)
          << status << ": " << count;
    }
  }
  void tell() const {
    std::cout << "answers:";
    for (const auto& [status, count] : statuses_) std::cout << ' ' << status << " x" << count;
    std::cout << '\n';
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> answers_;
  std::map<std::string, int> unmarked_;
  std::map<int, int> statuses_;
};

// A client that repeats its request, to either gateway, until it is answered.
void insist(pair_of_gateways& at, const std::string& key, std::uint64_t seed, witness& into) {
  std::mt19937_64 random{seed};
  const auto end = std::chrono::steady_clock::now() + patience;
  reply said;
  while (std::chrono::steady_clock::now() < end) {
    said = at.post(static_cast<int>(random() % 2), key);
    into.saw(key, said);
    if (said.status == 201) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{20 + random() % 60});
  }
  ADD_FAILURE() << key << " was never settled: " << said.status << ' ' << said.body;
}

enum class victim { application, first_gateway, second_gateway, server, connections };

void strike(victim whom, shop& in, pair_of_gateways& at, testkit::tcp_gate& gate) {
  switch (whom) {
    case victim::application:
      in.application().kill_child();
      break;
    case victim::first_gateway:
    case victim::second_gateway: {
      const int which = whom == victim::first_gateway ? 0 : 1;
      at.kill(which);
      at.start(which);
      break;
    }
    case victim::server:
      in.server().kill();
      in.server().start();
      break;
    case victim::connections:
      gate.cut();
      break;
  }
}

TEST(storm, X12_X13_two_hundred_keys_under_kill_minus_nine) {
  constexpr int rounds = 26;
  constexpr int keys_a_round = 8;
  constexpr int duplicates = 3;
  shop in;
  testkit::tcp_gate gate{in.server().port()};
  in.start_application(tests::postgres_server::url_at(gate.port(), in.database()));
  pair_of_gateways at{in, tests::postgres_server::url_at(gate.port(), in.database())};
  std::mt19937_64 random{chosen_seed()};
  witness seen;
  std::vector<std::string> keys;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> clients;
    for (int each = 0; each < keys_a_round; ++each) {
      keys.push_back("round-" + std::to_string(round) + "-" + std::to_string(each));
      for (int copy = 0; copy < duplicates; ++copy) {
        clients.emplace_back(
            [&at, &seen, key = keys.back(), seed = random()] { insist(at, key, seed, seen); });
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 40'000});
    strike(static_cast<victim>(round % 5), in, at, gate);
    for (std::thread& each : clients) each.join();
  }
  seen.tell();
  seen.judge(in, keys);
  EXPECT_GE(keys.size(), 200u);
  EXPECT_EQ(in.orders(), keys.size());
}

}  // namespace
}  // namespace callonce::fault
