#include <stdexcept>

#include <callonce/core/replay.hpp>
#include <callonce/engine/runs.hpp>

namespace callonce {
namespace {

response answer_of(outcome ended) {
  if (auto* done = std::get_if<committed>(&ended)) return std::move(done->answer);
  if (auto* nothing = std::get_if<not_executed>(&ended)) return std::move(nothing->answer);
  return std::move(std::get<indeterminate>(ended).answer);
}

}  // namespace

not_executed::not_executed() : answer(to_response(problem_code::overloaded)) {}
indeterminate::indeterminate() : answer(to_response(problem_code::upstream_timeout)) {}

route::route(engine& over, callonce::policy by, handler does)
    : engine_(over),
      policy_(std::make_shared<const callonce::policy>(std::move(by))),
      handler_(std::make_shared<const handler>(std::move(does))) {
  policy_->check();
  if (!*handler_) throw std::invalid_argument("a route needs a handler");
}

route::~route() = default;

std::variant<pass_through, problem, identity> route::admit(const request& head) const {
  return callonce::admit(*policy_, head);
}

response route::refuse(const problem& why, const identity* id) const {
  engine_.shared().report_refusal(*policy_, id, why);
  return to_response(why, policy_->settings().problem_base);
}

void route::sent(const identity& id, int status) const {
  engine_.shared().report(fact_kind::sent, *policy_, &id, status);
}

asio::awaitable<answer> route::answer(identity as, request asked, std::stop_token client_left) {
  return answer_with(handler_, std::move(as), std::move(asked), std::move(client_left), true);
}

asio::awaitable<answer> route::answer(request asked, std::stop_token client_left) {
  return answer_with(handler_, std::move(asked), std::move(client_left), true);
}

asio::awaitable<answer> route::answer_with(std::shared_ptr<const handler> work, request asked,
                                           std::stop_token client_left, bool bounded) {
  std::variant<pass_through, problem, identity> admitted = admit(asked);
  if (const auto* why = std::get_if<problem>(&admitted)) co_return refuse(*why);
  if (auto* as = std::get_if<identity>(&admitted)) {
    co_return co_await answer_with(std::move(work), std::move(*as), std::move(asked),
                                   std::move(client_left), bounded);
  }
  co_return co_await pass(std::move(work), std::move(asked));
}

asio::awaitable<answer> route::answer_with(std::shared_ptr<const handler> work, identity as,
                                           request asked, std::stop_token client_left,
                                           bool bounded) {
  if (asked.body().size() > policy_->settings().request_body_max) {
    co_return refuse(problem_code::body_too_large, &as);
  }
  co_return co_await engine_.shared().attend(policy_, std::move(work), std::move(as),
                                             std::move(asked), std::move(client_left), bounded);
}

// Without a key there is nothing to protect: the handler runs once for each request.
asio::awaitable<answer> route::pass(std::shared_ptr<const handler> work, request asked) {
  engine_.shared().report(fact_kind::passed_through, *policy_, nullptr);
  claim none;
  callonce::answer given;
  try {
    outcome ended = co_await (*work)(none, asked);
    if (auto* whole = std::get_if<callonce::answer>(&ended)) {
      given = std::move(*whole);
    } else {
      given = answer_of(std::move(ended));
    }
  } catch (...) {
    engine_.shared().report(fact_kind::handler_failed, *policy_, nullptr);
    given = to_response(problem{problem_code::internal_error}, policy_->settings().problem_base);
  }
  strip_for_client(given.head.headers());
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
