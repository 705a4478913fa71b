#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/engine/purger.hpp>
#include <callonce/stores/memory/store.hpp>
#include <callonce/testkit/checker.hpp>
#include <callonce/testkit/holding_store.hpp>
#include <callonce/testkit/twins.hpp>

#include "tests/sim/application.hpp"
#include "tests/sim/scenario.hpp"

namespace callonce::sim {

/// One request on its way to a node and back.
struct exchange;

/// One world: nodes with an engine each over one store, clients, an application, and trouble; then
/// the trouble ends, and everything must settle.
class simulation {
 public:
  /// `twin` names a store that is broken on purpose, or is empty.
  simulation(std::uint64_t seed, std::string_view world, std::string_view twin = {});
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Keeps a readable history of what happens.
  void keep_history() { checker_.keep_history(); }
  /// Runs the world to its end. Post: true when no rule was broken.
  bool run();

  const scenario& drawn() const noexcept { return scenario_; }
  const std::vector<std::string>& broken() const noexcept { return checker_.all_broken(); }
  const std::deque<std::string>& history() const noexcept { return checker_.history(); }
  std::uint64_t reported(fact_kind kind) const { return checker_.reported(kind); }
  std::uint64_t steps() const noexcept { return world_.steps(); }

 private:
  static constexpr std::uint64_t no_step = ~std::uint64_t{0};

  // A machine and the engine on it, which comes and goes.
  struct server {
    std::unique_ptr<testkit::node> machine;
    unsigned sender = 0;  ///< Numbers the engine's life.
    std::unique_ptr<engine> runs;
    std::unique_ptr<route> charges;
    std::unique_ptr<purger> purges;
    std::stop_source purging_ends;
    workplace at;
    std::size_t open = 0;  ///< Requests that are being answered.
    bool up() const { return runs != nullptr; }
  };
  struct customer {
    std::string tenant;
    std::string key;
  };

  moment store_now() const;
  store& wire(unsigned sender, testkit::node& caller, bool with_effect);
  void start(server& down);
  void crash(server& up);

  // traffic.cpp: clients and their requests.
  std::shared_ptr<exchange> make_exchange(const customer& by, bool other_payload);
  void send(const std::shared_ptr<exchange>& asked);
  struct connection;
  asio::awaitable<void> serve(std::shared_ptr<connection> over);
  void arrive(const std::shared_ptr<exchange>& answered);
  void check_punctual(const exchange& told, const response& answer);
  asio::awaitable<void> client();
  asio::awaitable<void> probe(customer of);
  customer draw_customer();

  // trouble.cpp: what goes wrong, and when.
  void plan_trouble();
  template <class Trouble>
  void at_random_times(unsigned count, Trouble does);
  server* draw_running();
  void crash_some();
  void pause_some();
  void stall();
  void hold_some();
  void drain_some();
  void jump_walls();
  void settle_some();
  asio::awaitable<void> drain(server& leaving);
  void leave_when_idle(server& leaving, unsigned sender);
  asio::awaitable<void> settle(identity which);
  void end_trouble();

  bool run_until_idle(const std::size_t& busy, world_time until);
  void check_slots();
  identity identify(const customer& of) const;

  random_stream draws_;
  scenario scenario_;
  testkit::world world_;
  testkit::node store_side_;
  testkit::node outside_;  ///< Where the clients are.
  world_time wall_jumped_{0};
  memory::store memory_;
  std::unique_ptr<store> twin_;
  testkit::holding_store rows_;
  testkit::store_weather weather_;
  testkit::checker checker_;
  application application_;
  std::deque<testkit::faulty_store> wires_;
  std::vector<std::unique_ptr<server>> servers_;
  std::vector<std::unique_ptr<purger>> retired_;  ///< Told to stop; some are still asleep.
  std::vector<bool> clean_;                       ///< By sender: neither crashed nor paused.
  std::vector<customer> customers_;
  std::size_t clients_left_ = 0;
  std::size_t probes_left_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t crash_at_step_ = no_step;
  bool trouble_over_ = false;
};

}  // namespace callonce::sim
