#include <memory>
#include <string_view>

#include <libpq-fe.h>

#include <callonce/stores/postgres/co_commit.hpp>
#include <callonce/stores/postgres/parameters.hpp>
#include <callonce/stores/postgres/written_answer.hpp>

namespace callonce::postgres {
namespace {

parameter text(std::string value) {
  return {std::move(value), false};
}

parameter number(std::int64_t value) {
  return {std::to_string(value), false};
}

template <std::size_t Size>
parameter bytes(const std::array<std::byte, Size>& value) {
  return {std::string{text_of(value)}, true};
}

// PostgreSQL reads 32 digits as a uuid.
template <std::size_t Size>
parameter uuid(const std::array<std::byte, Size>& value) {
  return {to_hex(value), false};
}

result<void> run(pg_conn* in, const statement& what) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const parameter& each : what.parameters) {
    values.push_back(each.value.c_str());
    lengths.push_back(static_cast<int>(each.value.size()));
    formats.push_back(each.is_bytes ? 1 : 0);
  }
  const std::unique_ptr<PGresult, decltype(&PQclear)> said{
      PQexecParams(in, what.sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                   lengths.data(), formats.data(), 0),
      &PQclear};
  if (PQresultStatus(said.get()) == PGRES_TUPLES_OK) return {};
  const char* code = PQresultErrorField(said.get(), PG_DIAG_SQLSTATE);
  return fault_of(code != nullptr ? code : "");
}

}  // namespace

statement hold_statement(const claim& won) {
  return {"select callonce.hold($1)", {text(won.handle())}};
}

statement complete_statement(const claim& won, const response& answer) {
  const stored_answer kept = won.frozen(answer);
  const detail::written_answer as{kept};
  return {"select callonce.complete_encoded($1, $2::bytea, $3::bytea)",
          {text(won.handle()), {as.head, true}, {std::string{as.body}, true}}};
}

statement once_statement(const claim_request& wish, const stored_answer& answer) {
  const detail::written_answer as{answer};
  return {
      "select callonce.once($1::uuid, $2::bytea, $3::bytea, $4, $5::bytea, $6::uuid, $7::bigint, "
      "$8::bigint, $9::bigint, $10::bigint, $11::boolean, $12, $13::bytea, $14::bytea)",
      {uuid(wish.id.index()),
       bytes(wish.id.scope()),
       {std::string{wish.id.key().bytes()}, true},
       text(wish.fingerprint.rule.text()),
       bytes(wish.fingerprint.value),
       uuid(wish.claim_id),
       number(wish.terms.lease.count()),
       number(wish.terms.retention.count()),
       number(wish.terms.key_retention.count()),
       number(static_cast<std::int64_t>(wish.terms.response_body_max)),
       text(wish.terms.park ? "t" : "f"),
       text(detail::as_text(wish.terms.route)),
       {as.head, true},
       {std::string{as.body}, true}}};
}

errc fault_of(std::string_view sqlstate) noexcept {
  if (sqlstate == "ID001" || sqlstate == "ID004" || sqlstate == "40001") return errc::claim_lost;
  if (sqlstate == "ID002") return errc::already_completed;
  if (sqlstate == "ID003") return errc::no_transaction;
  if (sqlstate.empty() || sqlstate.starts_with("08")) return errc::in_doubt;
  return errc::unavailable;
}

result<void> hold(pg_conn* in, const claim& won) {
  return run(in, hold_statement(won));
}

result<void> complete(pg_conn* in, const claim& won, const response& answer) {
  return run(in, complete_statement(won, answer));
}

}  // namespace callonce::postgres
