#include <algorithm>
#include <charconv>

#include <callonce/core/replay.hpp>
#include <callonce/testkit/checker.hpp>

#include "callonce/testkit/witness.hpp"

// What clients may be told.

namespace callonce::testkit {
namespace {

// How long an engine may give a finished answer from memory after its record has begun a new life.
constexpr world_time memory_max = std::chrono::seconds{3};

std::optional<std::size_t> run_of(const response& answer) {
  const std::string* text = answer.headers().find("X-Run");
  if (text == nullptr) return std::nullopt;
  std::size_t number = 0;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

bool has(const response& answer, std::string_view name) {
  return answer.headers().find(name) != nullptr;
}

bool says(const response& answer, std::string_view code) {
  const std::string member = "\"code\":\"" + std::string{code} + "\"";
  return answer.body_text().find(member) != std::string_view::npos;
}

bool equal(const response& left, const response& right) {
  return left.status() == right.status() && left.headers() == right.headers() &&
         left.body_text() == right.body_text();
}

}  // namespace

void checker::told(const asked& by, const response& answer, bool whole) {
  trace([&] {
    std::string line = "request " + std::to_string(by.number) + " on " + name_of(by.id) +
                       " is told " + std::to_string(answer.status());
    if (const auto run = run_of(answer)) line += " of run " + std::to_string(*run);
    if (has(answer, replayed_field)) line += ", a replay";
    if (has(answer, "Idempotency-Recorded")) line += ", not recorded";
    if (!has(answer, "X-Run")) line.append(" ").append(answer.body_text());
    return line;
  });
  const std::optional<std::size_t> run = run_of(answer);
  if (run && *run < runs_.size()) {
    told_answer(by, answer, runs_[*run], whole);
  } else if (has(answer, replayed_field)) {
    told_replay(by, answer);
  } else {
    told_problem(by, answer);
  }
}

void checker::told_answer(const asked& by, const response& answer, const run_note& run,
                          bool whole) {
  if (run.id != by.id) broken(&by.id, "a client saw the answer of another key or scope");
  if (run.asks != by.wants) broken(&by.id, "a client saw the answer to another payload");
  const bool own = run.exchange == by.number;
  const bool store_failed =
      reported(fact_kind::store_failed) > 0 || reported(fact_kind::in_doubt) > 0;
  if (own && store_failed && answer.status() == run.failure) return;
  const std::string_view body = answer.body_text();
  const bool body_right = whole ? body == run.body : run.body.starts_with(body);
  if (answer.status() != run.status || !body_right) {
    broken(&by.id, "a client saw an answer that no run gave");
  }
  const bool marked = has(answer, replayed_field);
  if (own && marked) broken(&by.id, "a client's own answer was marked as a replay");
  if (!own && !marked) broken(&by.id, "a replay was not marked");
  if (marked) {
    told_replay(by, answer);
  } else if (run.final && !has(answer, "Idempotency-Recorded")) {
    const dossier& of = about(by.id);
    const bool durable = std::any_of(of.frozen.begin(), of.frozen.end(),
                                     [&](const frozen_note& each) { return each.by == run.by; });
    if (!durable) broken(&by.id, "a final answer was sent before it was durable");
  }
}

void checker::told_replay(const asked& by, const response& answer) {
  // An answer that is not durable yet is checked as its run's own.
  if (has(answer, "Idempotency-Recorded")) return;
  const dossier& of = about(by.id);
  const bool stored = std::any_of(of.frozen.begin(), of.frozen.end(), [&](const frozen_note& each) {
    if (each.until != world_time::max() && each.until + memory_max < by.at) return false;
    return equal(thaw(*each.answer, /*mark=*/true), answer);
  });
  if (!stored) broken(&by.id, "a replay differs from the stored answer");
}

void checker::told_problem(const asked& by, const response& answer) {
  const std::string* type = answer.headers().find("Content-Type");
  if (type == nullptr || *type != "application/problem+json") {
    broken(&by.id, "a client was told something that nobody said");
    return;
  }
  const bool retryable = answer.body_text().find("\"retryable\":true") != std::string_view::npos;
  if (retryable != has(answer, "Retry-After")) {
    broken(&by.id, "Retry-After and `retryable` do not agree");
  }
  const dossier& of = about(by.id);
  const bool differs = std::any_of(of.claims.begin(), of.claims.end(),
                                   [&](const claim_note& each) { return each.asks != by.wants; });
  if (says(answer, "idempotency_key_reused") && !differs) {
    broken(&by.id, "a mismatch was told, and there is none");
  }
  if (says(answer, "idempotency_outcome_unknown") && !of.was_parked) {
    broken(&by.id, "an unknown outcome was told, and it was never parked");
  }
  if (says(answer, "idempotency_response_unavailable") && of.frozen.empty()) {
    broken(&by.id, "a completed record was told, and there is none");
  }
  if (says(answer, "idempotency_key_in_progress") && of.claims.empty()) {
    broken(&by.id, "a running request was told, and none ever ran");
  }
}

}  // namespace callonce::testkit
