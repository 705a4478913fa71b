#include <callonce/stores/postgres/row_statements.hpp>
#include <callonce/stores/postgres/written_answer.hpp>

namespace callonce::postgres::detail {
namespace {

// $1 names the row, $2 to $17 are what may change of it.
constexpr const char* insert_sql =
    "insert into callonce.record (key_index, rule, fingerprint, state, attempt, claim_id, "
    "lease_until_ms, created_at_ms, completed_at_ms, body_until_ms, expires_at_ms, lease_ms, "
    "retention_ms, key_retention_ms, response_body_max, park, route, scope, key) "
    "values ($1::uuid, $2::text, $3::bytea, $4::bigint, $5::bigint, $6::uuid, $7::bigint, "
    "$8::bigint, $9::bigint, $10::bigint, $11::bigint, $12::bigint, $13::bigint, $14::bigint, "
    "$15::bigint, $16::boolean, $17::text, $18::bytea, $19::bytea) "
    "on conflict (key_index) do nothing returning id";
constexpr const char* update_sql =
    "update callonce.record set rule = $2::text, fingerprint = $3::bytea, state = $4::bigint, "
    "attempt = $5::bigint, claim_id = $6::uuid, lease_until_ms = $7::bigint, "
    "created_at_ms = $8::bigint, completed_at_ms = $9::bigint, body_until_ms = $10::bigint, "
    "expires_at_ms = $11::bigint, lease_ms = $12::bigint, retention_ms = $13::bigint, "
    "key_retention_ms = $14::bigint, response_body_max = $15::bigint, park = $16::boolean, "
    "route = $17::text, held = false "
    "where key_index = $1::uuid and claim_id = $18::uuid and attempt = $19::bigint "
    "and state = $20::bigint and lease_until_ms = $21::bigint and expires_at_ms = $22::bigint "
    "returning id";
constexpr const char* delete_sql =
    "delete from callonce.record where key_index = $1::uuid and claim_id = $2::uuid "
    "and attempt = $3::bigint and state = $4::bigint and lease_until_ms = $5::bigint "
    "and expires_at_ms = $6::bigint returning id";

std::int64_t number_of(instant at) {
  return at.time_since_epoch().count();
}

template <std::size_t Size>
std::string bytes(const std::array<std::byte, Size>& of) {
  return std::string{text_of(of)};
}

message about(const identity& of, std::string sql) {
  message made{std::move(sql)};
  made.with(bytes(of.index()));
  return made;
}

message about_answer(std::uint64_t id, std::string sql) {
  message made{std::move(sql)};
  made.with_number(static_cast<std::int64_t>(id));
  return made;
}

void add_fields(message& to, const record& of) {
  to.with(as_text(of.fingerprint.rule.text())).with(bytes(of.fingerprint.value));
  to.with_number(static_cast<std::int64_t>(of.state)).with_number(of.attempt);
  to.with(bytes(of.claim_id));
  for (const instant each :
       {of.lease_until, of.created_at, of.completed_at, of.body_until, of.expires_at}) {
    to.with_number(number_of(each));
  }
  for (const auto each : {of.terms.lease, of.terms.retention, of.terms.key_retention}) {
    to.with_number(each.count());
  }
  to.with_number(static_cast<std::int64_t>(of.terms.response_body_max));
  to.with(std::string(1, of.terms.park ? '\1' : '\0')).with(as_text(of.terms.route));
}

void add_guard(message& to, const record& judged) {
  to.with(bytes(judged.claim_id)).with_number(judged.attempt);
  to.with_number(static_cast<std::int64_t>(judged.state));
  to.with_number(number_of(judged.lease_until)).with_number(number_of(judged.expires_at));
}

}  // namespace

message ask_clocks(const clock_expressions& by) {
  return message{"select " + by.lease + ", " + by.wall};
}

moment read_moment(const table& from) {
  const auto at = [&](int column) {
    return instant{std::chrono::milliseconds{from.integer(0, column)}};
  };
  return {at(0), at(1)};
}

message read_row(const identity& of) {
  return about(of, std::string{"select "} + record_columns +
                       " from callonce.record where key_index = $1::uuid");
}

message lock_row(const identity& of, std::uint32_t attempt) {
  message made = about(of, std::string{"select "} + record_columns +
                               " from callonce.record where key_index = $1::uuid "
                               "and attempt = $2::bigint for no key update skip locked");
  made.with_number(attempt);
  return made;
}

message insert_row(const record& first) {
  message made = about(first.id, insert_sql);
  add_fields(made, first);
  made.with(bytes(first.id.scope())).with(std::string{first.id.key().bytes()});
  return made;
}

message update_row(const record& next, const record& judged) {
  message made = about(next.id, update_sql);
  add_fields(made, next);
  add_guard(made, judged);
  return made;
}

message delete_row(const record& judged) {
  message made = about(judged.id, delete_sql);
  add_guard(made, judged);
  return made;
}

message read_answer_of(std::uint64_t id) {
  return about_answer(
      id, std::string{"select "} + answer_columns + " from callonce.answer where id = $1::bigint");
}

message insert_answer(std::uint64_t id, const stored_answer& answer) {
  message made = about_answer(id,
                              "insert into callonce.answer (id, form, head, body) "
                              "values ($1::bigint, 1, $2::bytea, $3::bytea)");
  written_answer as{answer};
  made.with(std::move(as.head));
  if (as.body.empty()) {
    made.with_null();
  } else {
    made.with(std::string{as.body});
  }
  return made;
}

message drop_body(std::uint64_t id) {
  return about_answer(id, "update callonce.answer set body = null where id = $1::bigint");
}

message delete_answer(std::uint64_t id) {
  return about_answer(id, "delete from callonce.answer where id = $1::bigint");
}

message note(const record& settled, const settle_reason& reason, instant wall) {
  message made = about(settled.id,
                       "insert into callonce.audit (key_index, at_ms, attempt, state, who, why) "
                       "values ($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text)");
  made.with_number(number_of(wall)).with_number(settled.attempt);
  made.with_number(static_cast<std::int64_t>(settled.state));
  made.with(as_text(reason.who)).with(as_text(reason.why));
  return made;
}

}  // namespace callonce::postgres::detail
