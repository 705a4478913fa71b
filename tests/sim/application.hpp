#pragma once

#include <memory>

#include <callonce/engine/answer.hpp>
#include <callonce/testkit/checker.hpp>

#include "tests/sim/scenario.hpp"

namespace callonce::sim {

/// Where a handler runs.
struct workplace {
  unsigned sender = 0;
  testkit::node* machine = nullptr;
  store* database = nullptr;  ///< The store on the application's own connection.
};

/// The API that is protected: each run draws what it does from the world's seed.
class application {
 public:
  application(testkit::world& in, testkit::checker& tells, const scenario& by)
      : world_(in), tells_(tells), by_(by) {}

  /// From now on every run ends soon, with 201.
  void behave() noexcept { behaves_ = true; }

  asio::awaitable<outcome> run(workplace at, claim& won, const request& asked);

 private:
  enum class kind {
    created,
    declined,
    empty,
    busy,
    failed,
    throws,
    not_executed,
    indeterminate,
    unknown,
    streamed,
    over_cap,
    cut_off,
    streamed_failure,
    never_ends,
    co_commits,
  };
  struct plan {
    kind does = kind::created;
    world_time lasts{};
    bool obeys = true;
  };
  plan draw_plan();
  response draw_response(const plan& drawn, std::size_t run);
  void say(testkit::run_mark& mark, const response& head, std::string body);
  outcome end(const plan& drawn, workplace at, std::shared_ptr<testkit::run_mark> mark);
  outcome stream(const plan& drawn, workplace at, std::shared_ptr<testkit::run_mark> mark);
  asio::awaitable<outcome> co_commit(workplace at, const claim& won,
                                     std::shared_ptr<testkit::run_mark> mark);

  testkit::world& world_;
  testkit::checker& tells_;
  const scenario& by_;
  bool behaves_ = false;
};

}  // namespace callonce::sim
