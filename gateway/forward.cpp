#include <memory>
#include <utility>

#include <gateway/forward.hpp>

#include <callonce/core/problem.hpp>
#include <callonce/core/replay.hpp>

namespace callonce::gateway {
namespace {

// Error pages are short; a longer 502 or 504 is answered by a problem of ours in its place.
constexpr std::size_t error_body_max = std::size_t{64} << 10;

response problem_of(const policy& by, const claim& run, problem_code code) {
  problem made{code};
  if (run.is_protected()) made.record_id = run.id().record_id();
  return to_response(made, by.settings().problems);
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
  response whole{said.head.status(), std::move(said.head.headers()), std::move(body)};
  whole.trailers() = said.rest->trailers();
  co_return whole;
}

asio::awaitable<outcome> forward(upstream& to, std::shared_ptr<const policy> by, const claim& run,
                                 const request& asked) {
  const request sent = asked_under(run, asked);
  const upstream::interim tell_client = [&run](const response& said) -> asio::awaitable<void> {
    response interim = said;
    strip_for_client(interim.headers());
    run.send_interim(std::move(interim));
    co_return;
  };
  auto got = co_await to.send(sent, nullptr, tell_client, run.lost());
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

// The caller's own question, less what belongs to his operation.
request may_read(const request& asked, const std::string& path) {
  request made{"GET", path, asked.headers()};
  made.headers().keep_if([](const field& line) {
    constexpr std::string_view content = "Content-";
    const bool of_body = line.name.size() > content.size() &&
                         same_name(line.name.substr(0, content.size()), content);
    return !of_body && !same_name(line.name, "TE") && !same_name(line.name, "Upgrade") &&
           !same_name(line.name, "Transfer-Encoding");
  });
  return made;
}

asio::awaitable<std::optional<response>> ask_application(std::shared_ptr<upstream> to,
                                                         std::shared_ptr<const policy> by,
                                                         const std::string& path,
                                                         const request& asked) {
  const request question = may_read(asked, path);
  const upstream::interim dropped;
  auto got = co_await to->send(question, nullptr, dropped, std::stop_token{});
  std::optional<response> instead;
  if (auto* said = std::get_if<upstream_answer>(&got)) {
    const int status = said->content.head.status();
    const bool allowed = status >= 200 && status < 300;
    auto whole = co_await collect(std::move(said->content));
    if (allowed) co_return instead;
    if (whole) {
      strip_for_client(whole->headers());
      instead = std::move(*whole);
      co_return instead;
    }
  }
  // Whoever cannot be asked has not agreed.
  problem why{problem_code::upstream_unreachable};
  why.reason = "auth_check";
  instead = to_response(why, by->settings().problems);
  co_return instead;
}

}  // namespace

handler make_forward(std::shared_ptr<upstream> to, policy by) {
  auto shared = std::make_shared<const policy>(std::move(by));
  return [to = std::move(to), shared = std::move(shared)](claim& run, const request& asked) {
    return forward(*to, shared, run, asked);
  };
}

replay_check make_replay_check(std::shared_ptr<upstream> to, policy by, std::string path) {
  if (path.empty()) return {};
  auto shared = std::make_shared<const policy>(std::move(by));
  return [to = std::move(to), shared = std::move(shared), path = std::move(path)](
             const request& asked) { return ask_application(to, shared, path, asked); };
}

}  // namespace callonce::gateway
