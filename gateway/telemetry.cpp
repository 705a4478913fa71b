#include <utility>

#include <gateway/telemetry.hpp>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds quiet = 10s;

bool floods(const fact& what) {
  return what.kind == fact_kind::store_failed || what.kind == fact_kind::in_doubt ||
         what.kind == fact_kind::unrecorded || what.kind == fact_kind::corrupt ||
         what.kind == fact_kind::handler_failed || what.kind == fact_kind::kept ||
         what.kind == fact_kind::refused || what.kind == fact_kind::answer_differs ||
         what.kind == fact_kind::not_co_committed;
}

std::optional<std::uint64_t> unless_zero(std::uint64_t number) {
  if (number == 0) return std::nullopt;
  return number;
}

// What an operator can do about it, where that is not plain from the event's name.
std::string_view advice_for(const fact& what) {
  switch (what.kind) {
    case fact_kind::store_failed:
      return "the store does not take records: look at its disk, and at /readyz";
    case fact_kind::unrecorded:
      return "an answer was sent before its record was durable: look at the store now";
    case fact_kind::corrupt:
      return "a record cannot be trusted: callonce keys show gives what is known of it";
    case fact_kind::answer_differs:
      return "the client got what callonce.complete stored: let the application send the same";
    case fact_kind::not_co_committed:
      return "the route is of class atomic: the application must call callonce.complete in its "
             "transaction";
    case fact_kind::parked:
      return "find out what happened, then callonce keys settle";
    case fact_kind::trust_over:
      return "the lease could not be renewed in time: another attempt may begin";
    case fact_kind::wall_jumped:
      return "the wall clock jumped: nothing is purged until a restart";
    case fact_kind::refused:
      return what.code == problem_code::scope_unusable
                 ? "a JWT changes while an operation may be retried, so header:Authorization "
                   "cannot tell callers apart: use a jwt: rule, or trusted: behind a hop that "
                   "verifies it"
                 : "";
    default:
      return "";
  }
}

}  // namespace

log_level level_of(const fact& what) noexcept {
  switch (what.kind) {
    case fact_kind::handler_failed:
    case fact_kind::store_failed:
    case fact_kind::unrecorded:
    case fact_kind::corrupt:
    case fact_kind::wall_jumped:
      return log_level::error;
    case fact_kind::kept:
    case fact_kind::parked:
    case fact_kind::abandoned:
    case fact_kind::trust_over:
    case fact_kind::lease_lost:
    case fact_kind::in_doubt:
    case fact_kind::answer_differs:
    case fact_kind::not_co_committed:
      return log_level::warning;
    case fact_kind::detached:
      return log_level::info;
    case fact_kind::claimed:
      return what.claim == claim_kind::takeover ? log_level::info : log_level::debug;
    case fact_kind::refused:
      return what.code == problem_code::scope_unusable ? log_level::error : log_level::debug;
    default:
      return log_level::debug;
  }
}

void telemetry::on(const fact& what) {
  counts_.on(what);
  const log_level level = level_of(what);
  if (!lines_.writes(level)) return;
  std::uint64_t left_out = 0;
  if (level > log_level::debug && floods(what)) {
    flood& of = floods_[static_cast<std::size_t>(what.kind)];
    const steady_time now = env_.now();
    if (of.begun && now < of.quiet_until) {
      ++of.left_out;
      return;
    }
    of.begun = true;
    of.quiet_until = now + quiet;
    left_out = std::exchange(of.left_out, 0);
  }
  tell(level, what, left_out);
}

void telemetry::tell(log_level level, const fact& what, std::uint64_t left_out) const {
  const std::string record = what.id != nullptr ? what.id->record_id() : std::string{};
  std::string_view detail;
  if (what.kind == fact_kind::claimed) detail = to_string(what.claim);
  if (what.kind == fact_kind::refused) detail = to_string(what.code);
  lines_.write(level, to_string(what.kind),
               {{"route", what.route},
                {"record", record},
                {"attempt", unless_zero(what.attempt)},
                {"status", unless_zero(static_cast<std::uint64_t>(what.status))},
                {"detail", detail},
                {"count", unless_zero(what.count)},
                {"advice", advice_for(what)},
                {"left_out", unless_zero(left_out)}});
}

}  // namespace callonce::gateway
