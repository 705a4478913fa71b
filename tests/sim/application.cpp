#include "tests/sim/application.hpp"

#include <charconv>
#include <stdexcept>

#include <callonce/core/replay.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::sim {
namespace {

using namespace std::chrono_literals;
using testkit::run_mark;

std::uint64_t exchange_of(const request& asked) {
  std::uint64_t number = 0;
  if (const std::string* text = asked.headers().find("X-Exchange")) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  }
  return number;
}

// A body that comes in pieces, and perhaps not to its end. The run goes on as long as it does.
class pieces final : public body_source {
 public:
  pieces(environment& in, std::shared_ptr<run_mark> mark, std::string whole, bool breaks,
         world_time pause)
      : in_(in), mark_(std::move(mark)), whole_(std::move(whole)), breaks_(breaks), pause_(pause) {}

  asio::awaitable<result<std::span<const std::byte>>> next() override {
    co_await detail::sleep_until(in_, in_.now() + pause_);
    const std::size_t piece = std::max<std::size_t>(24, whole_.size() / 8);
    if (at_ >= whole_.size()) {
      mark_ = nullptr;
      if (breaks_) co_return errc::in_doubt;
      co_return std::span<const std::byte>{};
    }
    const std::size_t count = std::min(piece, whole_.size() - at_);
    const auto given = std::as_bytes(std::span{whole_}.subspan(at_, count));
    at_ += count;
    co_return given;
  }

 private:
  environment& in_;
  std::shared_ptr<run_mark> mark_;
  const std::string whole_;
  const bool breaks_;
  const world_time pause_;
  std::size_t at_ = 0;
};

}  // namespace

application::plan application::draw_plan() {
  random_stream& random = world_.random();
  plan drawn;
  if (behaves_) {
    drawn.lasts = 1ms;
    return drawn;
  }
  const behaviours& does = by_.does;
  const unsigned parts[] = {
      does.created,          does.declined,   does.empty,        does.busy,
      does.failed,           does.throws,     does.not_executed, does.indeterminate,
      does.unknown,          does.streamed,   does.over_cap,     does.cut_off,
      does.streamed_failure, does.never_ends, does.co_commits};
  unsigned sum = 0;
  for (unsigned part : parts) sum += part;
  auto at = random.below(sum);
  int chosen = 0;
  for (unsigned part : parts) {
    if (at < part) break;
    at -= part;
    ++chosen;
  }
  drawn.does = static_cast<kind>(chosen);
  drawn.lasts = random.between<world_time>(0ms, by_.handler_max);
  drawn.obeys = by_.obeys_lost;
  return drawn;
}

response application::draw_response(const plan& drawn, std::size_t run) {
  const auto number = std::to_string(run);
  int status = 201;
  std::string body = "run " + number;
  header_list headers;
  switch (drawn.does) {
    case kind::declined:
      status = 402;
      break;
    case kind::empty:
      status = 204;
      body.clear();
      break;
    case kind::busy:
      status = 409;
      headers.add("Retry-After", "1");
      break;
    case kind::failed:
    case kind::not_executed:
      status = 503;
      break;
    case kind::streamed_failure:
    case kind::unknown:
    case kind::throws:
      status = 500;
      break;
    case kind::indeterminate:
      status = 504;
      break;
    case kind::streamed:
    case kind::over_cap:
    case kind::cut_off:
      status = 200;
      break;
    default:
      break;
  }
  headers.add("X-Run", number);
  headers.add("Location", "/charges/" + number);
  if (world_.random().chance(20)) body.append(world_.random().pick({40U, 80U}), '.');
  if (status == 204) body.clear();
  return response{status, std::move(headers), std::move(body)};
}

// What the policy makes of an answer says what the checker may expect of it.
void application::say(run_mark& mark, const response& head, std::string body) {
  const auto verdict = judge(policy{by_.policy}, head).verdict;
  mark.answers(head.status(), std::move(body), verdict == judgement::kind::complete);
  if (verdict == judgement::kind::keep || verdict == judgement::kind::park) mark.ends_uncertain();
}

outcome application::stream(const plan& drawn, workplace at, std::shared_ptr<run_mark> mark) {
  response head = draw_response(drawn, mark->number());
  const bool over = drawn.does == kind::over_cap;
  const std::size_t length = over ? by_.policy.response_body_max + 60 : 60;
  std::string whole = std::string{head.body_text()};
  if (whole.size() < length) whole.resize(length, '+');
  const bool breaks = drawn.does == kind::cut_off;
  if (breaks) {
    mark->ends_uncertain();
    mark->answers(head.status(), whole, false);
  } else {
    say(*mark, head, whole);
  }
  response empty{head.status(), head.headers(), {}};
  if (world_.random().below(2) == 0 && !breaks) {
    empty.header("Content-Length", std::to_string(whole.size()));
  }
  const world_time pause = world_.random().between<world_time>(0ms, 100ms);
  answer given{std::move(empty), std::make_unique<pieces>(*at.machine, std::move(mark),
                                                          std::move(whole), breaks, pause)};
  return given;
}

outcome application::end(const plan& drawn, workplace at, std::shared_ptr<run_mark> mark) {
  switch (drawn.does) {
    case kind::streamed:
    case kind::over_cap:
    case kind::cut_off:
    case kind::streamed_failure:
      return stream(drawn, at, std::move(mark));
    default:
      break;
  }
  response made = draw_response(drawn, mark->number());
  std::string body{made.body_text()};
  switch (drawn.does) {
    case kind::throws:
      mark->answers(500, std::move(body), false);
      throw std::runtime_error{"the application failed"};
    case kind::not_executed:
      mark->answers(made.status(), std::move(body), false);
      return not_executed{std::move(made)};
    case kind::indeterminate:
      mark->answers(made.status(), std::move(body), false);
      mark->ends_uncertain();
      return indeterminate{std::move(made)};
    case kind::unknown:
      made.header("Idempotency-Outcome", "unknown");
      break;
    default:
      break;
  }
  say(*mark, made, std::move(body));
  return answer{std::move(made)};
}

// The record is completed in the application's own transaction; after its COMMIT the application
// may answer, fail or be cut off.
asio::awaitable<outcome> application::co_commit(workplace at, const claim& won,
                                                std::shared_ptr<run_mark> mark) {
  plan drawn;
  response made = draw_response(drawn, mark->number());
  mark->answers(made.status(), std::string{made.body_text()}, false);
  auto frozen = std::make_shared<const stored_answer>(
      freeze(made, by_.policy.replay_headers_drop, by_.policy.response_body_max));
  const fence by = won.fenced_by();
  const result<write_reply> reply = co_await at.database->complete(by, frozen);
  const bool done = reply && reply->verdict == write_verdict::done;
  const bool lost = !reply && reply.error() == errc::in_doubt;
  const bool cut = world_.random().chance(30);
  if (done) mark->answers(made.status(), std::string{made.body_text()}, true);
  if (lost || (done && cut)) {
    mark->ends_uncertain();
    co_return indeterminate{};
  }
  // What it says after its COMMIT, and even that it has committed, need not be true.
  if (done && world_.random().chance(25)) {
    // A success that never was is believed by classes that do not co-commit, and by atomic never.
    const int lie = by_.policy.effects == effect_class::atomic ? 200 : made.status();
    const int status = world_.random().pick({made.status(), lie, 500});
    if (status == 500) mark->fails_after_commit(status);
    co_return answer{response{status, header_list{made.headers()}, made.content()}};
  }
  if (done) co_return committed{std::move(made)};
  // The transaction has rolled back: nothing has happened.
  mark->answers(503, "", false);
  co_return not_executed{response{503, header_list{made.headers()}, {}}};
}

asio::awaitable<outcome> application::run(workplace at, claim& won, const request& asked) {
  std::shared_ptr<run_mark> mark = tells_.begins(at.sender, won, exchange_of(asked));
  const plan drawn = draw_plan();
  constexpr world_time for_ever = std::chrono::hours{10};
  const world_time lasts = drawn.does == kind::never_ends ? for_ever : drawn.lasts;
  detail::event never;
  const std::stop_token lost = drawn.obeys ? won.lost() : std::stop_token{};
  const auto how = co_await never.wait(*at.machine, at.machine->now() + lasts, lost);
  if (how == detail::event::end::left) {
    // It stops, and does not know how far it came.
    mark->ends_uncertain();
    mark->answers(504, "", false);
    co_return indeterminate{};
  }
  if (drawn.does == kind::co_commits) co_return co_await co_commit(at, won, std::move(mark));
  co_return end(drawn, at, std::move(mark));
}

}  // namespace callonce::sim
