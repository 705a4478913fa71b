#include <memory>
#include <utility>

#include <gateway/forward.hpp>

#include <callonce/core/problem.hpp>

namespace callonce::gateway {
namespace {

// Error pages are short; a longer 502 or 504 is answered by a problem of ours in its place.
constexpr std::size_t error_body_max = std::size_t{64} << 10;

response problem_of(const policy& by, const claim& run, problem_code code) {
  problem made{code};
  if (run.is_protected()) made.record_id = run.id().record_id();
  return to_response(made, by.settings().problem_base);
}

request asked_under(const claim& run, const request& asked) {
  request made = asked;
  header_list& lines = made.headers();
  lines.remove("Content-Length");
  if (!run.is_protected()) return made;
  lines.remove("Upgrade");
  lines.set("Accept-Encoding", "identity");
  lines.set("Idempotency-Claim", run.handle());
  lines.set("Idempotency-Attempt", std::to_string(run.attempt()));
  return made;
}

// The whole of a short answer.
asio::awaitable<result<response>> collect(answer said) {
  if (said.rest == nullptr) co_return std::move(said.head);
  std::string body{said.head.body_text()};
  for (;;) {
    const auto piece = co_await said.rest->next();
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    if (body.size() + piece->size() > error_body_max) co_return make_error_code(errc::in_doubt);
    body.append(reinterpret_cast<const char*>(piece->data()), piece->size());
  }
  co_return response{said.head.status(), std::move(said.head.headers()), std::move(body)};
}

asio::awaitable<outcome> forward(upstream& to, std::shared_ptr<const policy> by, const claim& run,
                                 const request& asked) {
  const request sent = asked_under(run, asked);
  // The run is not tied to a connection, so there is nobody to hand an interim answer to.
  const upstream::interim no_interims;
  auto got = co_await to.send(sent, nullptr, no_interims, run.lost());
  if (const auto* fault = std::get_if<upstream_fault>(&got)) {
    if (*fault == upstream_fault::unreachable) {
      co_return not_executed{problem_of(*by, run, problem_code::upstream_unreachable)};
    }
    co_return indeterminate{problem_of(*by, run, problem_code::upstream_broken)};
  }
  answer& said = std::get<upstream_answer>(got).content;
  if (!says_nothing_certain(*by, said.head)) co_return std::move(said);
  const int status = said.head.status();
  auto whole = co_await collect(std::move(said));
  if (whole) co_return indeterminate{std::move(*whole)};
  const bool late = status == 504;
  co_return indeterminate{
      problem_of(*by, run, late ? problem_code::upstream_timeout : problem_code::upstream_broken)};
}

}  // namespace

handler make_forward(upstream& to, policy by) {
  auto shared = std::make_shared<const policy>(std::move(by));
  return [&to, shared = std::move(shared)](claim& run, const request& asked) {
    return forward(to, shared, run, asked);
  };
}

}  // namespace callonce::gateway
