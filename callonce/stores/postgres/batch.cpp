#include <algorithm>

#include <callonce/stores/postgres/batch.hpp>
#include <callonce/stores/postgres/judgement.hpp>
#include <callonce/stores/postgres/written_answer.hpp>

namespace callonce::postgres::detail {
namespace {

using group_commit::call;
using group_commit::outcome;
using group_commit::reply;

// The numbers that callonce.write_batch knows.
enum class write_kind : std::int8_t { renew = 1, complete = 2, release = 3, park = 4 };

constexpr const char* write_sql =
    "select * from callonce.write_batch($1::smallint[], $2::uuid[], $3::uuid[], $4::integer[], "
    "$5::bigint[], $6::bytea[], $7::bytea[])";
constexpr const char* settle_sql =
    "select * from callonce.settle_one($1::uuid, $2::bigint::integer, $3::uuid, $4::bytea, "
    "$5::bytea, $6::bigint, $7::text, $8::text)";
constexpr const char* claim_sql =
    "select * from callonce.claim_batch($1::uuid[], $2::bytea[], $3::bytea[], $4::text[], "
    "$5::bytea[], $6::uuid[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], "
    "$11::boolean[], $12::text[], $13::integer[])";

// Adds one operation to the arrays of callonce.write_batch.
struct write_columns {
  array kind{array::of::int2};
  array key_index{array::of::uuid};
  array claim{array::of::uuid};
  array attempt{array::of::int4};
  array retention{array::of::int8};
  array head{array::of::bytes};
  array body{array::of::bytes};

  void fenced(write_kind what, const fence& by, std::chrono::milliseconds for_how_long = {}) {
    kind.add(static_cast<std::int64_t>(what));
    key_index.add(std::span<const std::byte>{by.id.index()});
    claim.add(std::span<const std::byte>{by.claim_id});
    attempt.add(std::int64_t{by.attempt});
    retention.add(std::int64_t{for_how_long.count()});
  }
  void bare(write_kind what, const fence& by, std::chrono::milliseconds for_how_long = {}) {
    fenced(what, by, for_how_long);
    head.add_null();
    body.add_null();
  }

  void operator()(const group_commit::renew_call& of) { bare(write_kind::renew, of.by); }
  void operator()(const group_commit::release_call& of) {
    bare(write_kind::release, of.by, of.retention);
  }
  void operator()(const group_commit::park_call& of) { bare(write_kind::park, of.by); }
  void operator()(const group_commit::complete_call& of) {
    fenced(write_kind::complete, of.by);
    const written_answer as{*of.answer};
    head.add(std::string_view{as.head});
    if (as.body.empty()) {
      body.add_null();
    } else {
      body.add(as.body);
    }
  }
  void operator()(const group_commit::claim_call&) {}
  void operator()(const group_commit::settle_call&) {}
};

claim_kind kind_of(change how) {
  switch (how) {
    case change::after_release:
      return claim_kind::after_release;
    case change::takeover:
      return claim_kind::takeover;
    case change::after_expiry:
      return claim_kind::after_expiry;
    case change::repeat:
      return claim_kind::repeat;
    default:
      return claim_kind::first;
  }
}

}  // namespace

batch::batch(std::span<const group_commit::operation* const> of) : of_(of) {
  statements_.emplace_back("begin isolation level read committed read write");
  sort_out();
  statements_.emplace_back("commit");
}

// In the order of the index everywhere, so that two lanes cannot wait for each other.
void batch::sort_out() {
  std::vector<std::size_t> writes;
  std::vector<std::size_t> settlements;
  std::vector<std::size_t> claims;
  for (std::size_t place = 0; place < of_.size(); ++place) {
    const call& what = of_[place]->what;
    if (group_commit::is_claim(what)) {
      claims.push_back(place);
    } else if (std::holds_alternative<group_commit::settle_call>(what)) {
      settlements.push_back(place);
    } else {
      writes.push_back(place);
    }
  }
  const auto by_index = [&](std::size_t left, std::size_t right) {
    return group_commit::identity_of(of_[left]->what).index() <
           group_commit::identity_of(of_[right]->what).index();
  };
  std::sort(writes.begin(), writes.end(), by_index);
  std::sort(claims.begin(), claims.end(), by_index);
  if (!writes.empty()) add_writes(std::move(writes));
  for (const std::size_t each : settlements) add_settlement(each);
  if (!claims.empty()) add_claims(std::move(claims));
}

void batch::add_writes(std::vector<std::size_t> places) {
  write_columns columns;
  for (const std::size_t each : places) std::visit(columns, of_[each]->what);
  message& made = statements_.emplace_back(write_sql);
  made.with(std::move(columns.kind))
      .with(std::move(columns.key_index))
      .with(std::move(columns.claim))
      .with(std::move(columns.attempt))
      .with(std::move(columns.retention))
      .with(std::move(columns.head))
      .with(std::move(columns.body));
  asked_.push_back({part::writes, std::move(places)});
}

void batch::add_settlement(std::size_t place) {
  const auto& of = std::get<group_commit::settle_call>(of_[place]->what);
  message& made = statements_.emplace_back(settle_sql);
  made.with(std::string{text_of(of.decision.id.index())});
  made.with_number(of.decision.expected_attempt);
  made.with(std::string{text_of(of.decision.claim_id)});
  if (of.decision.answer) {
    written_answer as{*of.decision.answer};
    made.with(std::move(as.head));
    if (as.body.empty()) {
      made.with_null();
    } else {
      made.with(std::string{as.body});
    }
  } else {
    made.with_null().with_null();
  }
  made.with_number(of.decision.released_retention.count());
  made.with(as_text(of.reason.who)).with(as_text(of.reason.why));
  asked_.push_back({part::settlement, {place}});
}

void batch::add_claims(std::vector<std::size_t> places) {
  using of = array::of;
  array key_index{of::uuid};
  array scope{of::bytes};
  array key{of::bytes};
  array rule{of::text};
  array print{of::bytes};
  array claim{of::uuid};
  array lease{of::int8};
  array retention{of::int8};
  array key_retention{of::int8};
  array body_max{of::int8};
  array park{of::boolean};
  array route{of::text};
  array attempts_max{of::int4};
  for (const std::size_t each : places) {
    const claim_request& wish = std::get<group_commit::claim_call>(of_[each]->what).wish;
    key_index.add(std::span<const std::byte>{wish.id.index()});
    scope.add(std::span<const std::byte>{wish.id.scope()});
    key.add(wish.id.key().bytes());
    rule.add(std::string_view{wish.fingerprint.rule.text()});
    print.add(std::span<const std::byte>{wish.fingerprint.value});
    claim.add(std::span<const std::byte>{wish.claim_id});
    lease.add(std::int64_t{wish.terms.lease.count()});
    retention.add(std::int64_t{wish.terms.retention.count()});
    key_retention.add(std::int64_t{wish.terms.key_retention.count()});
    body_max.add(static_cast<std::int64_t>(wish.terms.response_body_max));
    park.add(wish.terms.park);
    route.add(std::string_view{as_text(wish.terms.route)});
    attempts_max.add(std::int64_t{wish.attempts_max});
  }
  message& made = statements_.emplace_back(claim_sql);
  for (array* each : {&key_index, &scope, &key, &rule, &print, &claim, &lease, &retention,
                      &key_retention, &body_max, &park, &route, &attempts_max}) {
    made.with(std::move(*each));
  }
  asked_.push_back({part::claims, std::move(places)});
}

std::vector<outcome> batch::outcomes(const round_trip& said, steady_time sent_at) {
  std::vector<outcome> made(of_.size(), make_error_code(errc::unavailable));
  undecided_.clear();
  for (std::size_t each = 0; each < asked_.size(); ++each) {
    const table& from = said.answers[each + 1];  // Before them goes BEGIN.
    if (asked_[each].what == part::claims) {
      read_claims(asked_[each], from, sent_at, made);
    } else {
      read_writes(asked_[each], from, sent_at, made);
    }
  }
  return made;
}

void batch::read_claims(const asked& by, const table& from, steady_time sent_at,
                        std::vector<outcome>& into) {
  const moment now = clocks_of(from);
  std::vector<bool> told(by.places.size(), false);
  for (int row = 1; row < from.rows(); ++row) {
    const auto at = static_cast<std::size_t>(from.integer(row, 0) - 1);
    const std::size_t place = by.places[at];
    found_row met = read_found(from, row, group_commit::identity_of(of_[place]->what));
    told[at] = true;
    into[place] = claim_met(place, met, now);
  }
  for (std::size_t at = 0; at < told.size(); ++at) {
    if (told[at]) continue;
    const claim_request& wish = std::get<group_commit::claim_call>(of_[by.places[at]]->what).wish;
    claim_step first = on_claim(nullptr, wish, now);
    claim_reply reply_to;
    reply_to.verdict = first.verdict;
    reply_to.kind = first.kind;
    reply_to.current = *std::move(first.write);
    reply_to.judged_at = now;
    into[by.places[at]] = reply{std::move(reply_to)};
  }
  for (const std::size_t place : by.places) {
    if (into[place]) std::get<claim_reply>(*into[place]).sent_at = sent_at;
  }
}

outcome batch::claim_met(std::size_t place, found_row& met, moment now) {
  const group_commit::operation& one = *of_[place];
  if (!met.exists) {
    if (met.how != change::blocked) undecided_.push_back(place);
    return reply{unseen(one, now)};
  }
  if (!met.current) return met.current.error();
  record current = *std::move(met.current);
  if (met.how == change::none || met.how == change::blocked) {
    const claim_verdict why = judge_claim(one, &current, now, row_hold::held).verdict;
    return reply{refusal(one, why, std::move(current), now)};
  }
  claim_reply made;
  made.judged_at = now;
  made.current = std::move(current);
  made.verdict =
      met.how == change::parked ? claim_verdict::outcome_unknown : claim_verdict::claimed;
  if (met.how != change::parked) made.kind = kind_of(met.how);
  return reply{std::move(made)};
}

void batch::read_writes(const asked& by, const table& from, steady_time sent_at,
                        std::vector<outcome>& into) {
  const moment now = clocks_of(from);
  std::vector<bool> told(by.places.size(), false);
  for (int row = 1; row < from.rows(); ++row) {
    const auto at = static_cast<std::size_t>(from.integer(row, 0) - 1);
    const std::size_t place = by.places[at];
    found_row met = read_found(from, row, group_commit::identity_of(of_[place]->what));
    told[at] = true;
    into[place] = write_met(place, met, now);
  }
  for (std::size_t at = 0; at < told.size(); ++at) {
    const std::size_t place = by.places[at];
    if (!told[at]) {
      write_reply done;
      done.verdict = write_verdict::done;
      done.judged_at = now;
      into[place] = reply{std::move(done)};
    }
    if (into[place]) std::get<write_reply>(*into[place]).sent_at = sent_at;
  }
}

outcome batch::write_met(std::size_t place, found_row& met, moment now) {
  write_reply made;
  made.judged_at = now;
  if (met.exists && !met.current) return met.current.error();
  if (met.exists) made.current = *std::move(met.current);
  const record* found = made.current ? &*made.current : nullptr;
  // Not applied although the rules might allow it: somebody holds the row.
  made.verdict = judge_write(of_[place]->what, found, now, row_hold::held).verdict;
  made.already = made.verdict == write_verdict::done;
  return reply{std::move(made)};
}

}  // namespace callonce::postgres::detail
