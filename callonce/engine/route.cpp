#include <stdexcept>

#include <callonce/core/replay.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {
not_executed::not_executed() : answer(to_response(problem_code::overloaded)) {}
indeterminate::indeterminate() : answer(to_response(problem_code::upstream_timeout)) {}

route::route(engine& over, callonce::policy by, handler does, replay_check before_replay)
    : engine_(over),
      policy_(std::make_shared<const callonce::policy>(std::move(by))),
      handler_(std::make_shared<const handler>(std::move(does))) {
  policy_->check();
  if (!*handler_) throw std::invalid_argument("a route needs a handler");
  if (before_replay) check_ = std::make_shared<const replay_check>(std::move(before_replay));
}

route::~route() = default;

std::variant<pass_through, problem, identity> route::admit(const request& head) const {
  return callonce::admit(*policy_, head, engine_.shared().env().wall());
}

response route::refuse(const problem& why, const request& head, const identity* id) const {
  engine_.shared().report_refusal(*policy_, id, why);
  response made = to_response(why, policy_->settings().problems);
  answer_debts{*policy_, head}.pay(made);
  return made;
}

void route::sent(const identity& id, int status) const {
  engine_.shared().report(fact_kind::sent, *policy_, &id, status);
}

asio::awaitable<answer> route::answer(identity as, request asked, client_side client) {
  return answer_as(handler_, true, std::move(as), std::move(asked), std::move(client));
}

asio::awaitable<answer> route::answer(request asked, client_side client) {
  return answer_with(handler_, true, std::move(asked), std::move(client));
}

asio::awaitable<answer> route::answer_with(std::shared_ptr<const handler> work, bool bounded,
                                           request asked, client_side client) {
  std::variant<pass_through, problem, identity> admitted = admit(asked);
  if (const auto* why = std::get_if<problem>(&admitted)) co_return refuse(*why, asked);
  if (auto* as = std::get_if<identity>(&admitted)) {
    co_return co_await answer_as(std::move(work), bounded, std::move(*as), std::move(asked),
                                 std::move(client));
  }
  engine_.shared().report(fact_kind::passed_through, *policy_, nullptr);
  co_return co_await engine_.shared().run_unclaimed(*policy_, *work, asked);
}

asio::awaitable<answer> route::answer_as(std::shared_ptr<const handler> work, bool bounded,
                                         identity as, request asked, client_side client) {
  if (asked.body().size() > policy_->settings().request_body_max) {
    co_return refuse(problem_code::body_too_large, asked, &as);
  }
  const answer_debts debts{*policy_, asked};
  attended mine{policy_, std::move(work), check_, bounded};
  callonce::answer given = co_await engine_.shared().attend(std::move(mine), std::move(as),
                                                            std::move(asked), std::move(client));
  debts.pay(given.head);
  co_return given;
}

engine::engine(store& over, environment& in, observer* tell, engine_limits limits)
    : state_(std::make_shared<state>(over, in, tell, limits)) {}

engine::~engine() = default;

void engine::drain() {
  state_->drain();
}
asio::awaitable<bool> engine::drained(steady_time deadline) {
  return state_->drained(deadline);
}
std::size_t engine::runs() const noexcept {
  return state_->runs();
}
std::size_t engine::waiters() const noexcept {
  return state_->waiters();
}
std::size_t engine::detached() const noexcept {
  return state_->detached();
}

}  // namespace callonce
