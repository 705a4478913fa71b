#include <utility>

#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/engine.hpp>

namespace callonce::beast {
namespace {

using admission = std::variant<pass_through, problem, identity>;
using reading = std::variant<body_bytes, problem, disconnected>;

asio::awaitable<void> answer_through(route& to, exchange& with) {
  // What the head decides is decided before the client is asked for its body.
  admission admitted = to.admit(with.head());
  if (const problem* const why = std::get_if<problem>(&admitted)) {
    (void)co_await with.send(to.refuse(*why, with.head()));
    co_return;
  }
  const identity* const as = std::get_if<identity>(&admitted);
  reading read = co_await with.read_body(to.policy().settings().request_body_max);
  if (std::holds_alternative<disconnected>(read)) co_return;
  if (const problem* const why = std::get_if<problem>(&read)) {
    (void)co_await with.send(to.refuse(*why, with.head(), as));
    co_return;
  }
  request& head = with.head();
  request asked{head.method(), head.target(), std::move(head.headers()),
                std::get<body_bytes>(std::move(read))};
  const interim_sink tell = [&with](const response& interim) -> asio::awaitable<void> {
    (void)co_await with.send_interim(interim);
  };
  client_side client{with.client_left(), tell};
  if (as == nullptr) {
    answer said = co_await to.answer(std::move(asked), std::move(client));
    (void)co_await with.send(std::move(said));
    co_return;
  }
  answer said = co_await to.answer(*as, std::move(asked), std::move(client));
  const int status = said.head.status();
  const result<void> sent = co_await with.send(std::move(said));
  if (sent) to.sent(*as, status);
}

}  // namespace

service through(route& to) {
  return [&to](exchange& with) { return answer_through(to, with); };
}

asio::awaitable<void> serve(asio::generic::stream_protocol::socket connection, route& to) {
  server alone{through(to)};
  co_await alone.serve(std::move(connection));
}

}  // namespace callonce::beast
