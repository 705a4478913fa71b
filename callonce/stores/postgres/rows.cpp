#include <algorithm>

#include <callonce/core/codec.hpp>
#include <callonce/stores/postgres/rows.hpp>

namespace callonce::postgres::detail {

const char* const record_columns =
    "id, key_index, scope, key, rule, fingerprint, state, attempt, claim_id, lease_until_ms, "
    "created_at_ms, completed_at_ms, body_until_ms, expires_at_ms, lease_ms, retention_ms, "
    "key_retention_ms, response_body_max, park, route";
const char* const answer_columns = "form, status, omitted, head, headers, body";

std::string whole_columns() {
  return std::string{record_columns} + ", " + answer_columns;
}

namespace {

// The order of `record_columns`.
struct column {
  enum : int {
    id,
    key_index,
    scope,
    key,
    rule,
    fingerprint,
    state,
    attempt,
    claim,
    lease_until,
    created_at,
    completed_at,
    body_until,
    expires_at,
    lease,
    retention,
    key_retention,
    body_max,
    park,
    route,
    count
  };
};

// The order of `answer_columns`.
struct answer_column {
  enum : int { form, status, omitted, head, headers, body };
};

// The columns of callonce.found before those.
struct found_column {
  enum : int { place, how, wall, clock, record };
};

// Who wrote an answer, and so how it is read.
constexpr std::int64_t form_of_sql = 0;
constexpr std::int64_t form_of_ours = 1;

// One row, its columns counted from where the record's begin.
class row_reader {
 public:
  row_reader(const table& from, int row, int first) : from_(from), row_(row), first_(first) {}

  bool is_null(int at) const { return from_.is_null(row_, first_ + at); }
  std::int64_t integer(int at) const { return from_.integer(row_, first_ + at); }
  std::string_view bytes(int at) const { return from_.bytes(row_, first_ + at); }
  instant time(int at) const { return instant{std::chrono::milliseconds{integer(at)}}; }
  std::chrono::milliseconds duration(int at) const {
    return std::chrono::milliseconds{integer(at)};
  }

  template <std::size_t Size>
  bool copy(int at, std::array<std::byte, Size>& into) const {
    const std::span<const std::byte> sent = bytes_of(bytes(at));
    if (sent.size() != Size) return false;
    std::copy(sent.begin(), sent.end(), into.begin());
    return true;
  }

 private:
  const table& from_;
  const int row_;
  const int first_;
};

bool is_state(std::int64_t number) {
  return number >= static_cast<std::int64_t>(record_state::claimed) &&
         number <= static_cast<std::int64_t>(record_state::parked);
}

}  // namespace

moment clocks_of(const table& from) {
  const auto at = [&](int column) {
    return instant{std::chrono::milliseconds{from.integer(0, column)}};
  };
  return {at(found_column::clock), at(found_column::wall)};
}

found_row read_found(const table& from, int row, const identity& wanted) {
  found_row made;
  made.place = static_cast<int>(from.integer(row, found_column::place));
  if (!from.is_null(row, found_column::how)) {
    made.how = static_cast<change>(from.integer(row, found_column::how));
  }
  constexpr int id = found_column::record;
  made.exists = !from.is_null(row, id);
  if (made.exists) made.current = read_whole(from, row, found_column::record, &wanted);
  return made;
}

std::uint64_t id_of(const table& from, int row, int first) {
  return static_cast<std::uint64_t>(from.integer(row, first + column::id));
}

result<record> read_record(const table& from, int row, int first, const identity* wanted) {
  const row_reader in{from, row, first};
  record into;
  scope_hash scope_read;
  const std::string_view key_read = in.bytes(column::key);
  const std::int64_t state_read = in.integer(column::state);
  const bool whole =
      in.copy(column::scope, scope_read) && in.copy(column::fingerprint, into.fingerprint.value) &&
      in.copy(column::claim, into.claim_id) && is_state(state_read) && !key_read.empty() &&
      key_read.size() <= callonce::key::bytes_max && in.integer(column::attempt) > 0;
  if (!whole) return errc::corrupt;
  // Told apart before anything is believed: two keys under one index are a fault, never a match.
  if (wanted != nullptr && (key_read != wanted->key().bytes() || scope_read != wanted->scope())) {
    return errc::corrupt;
  }

  into.id =
      wanted != nullptr ? *wanted : identity{scope_read, callonce::key{std::string{key_read}}};
  into.fingerprint.rule = fingerprint_rule::from_text(std::string{in.bytes(column::rule)});
  into.state = static_cast<record_state>(state_read);
  into.attempt = static_cast<std::uint32_t>(in.integer(column::attempt));
  into.terms.lease = in.duration(column::lease);
  into.terms.retention = in.duration(column::retention);
  into.terms.key_retention = in.duration(column::key_retention);
  into.terms.response_body_max = static_cast<std::uint64_t>(in.integer(column::body_max));
  into.terms.park = in.bytes(column::park) == std::string_view{"\1"};
  into.terms.route = in.bytes(column::route);
  into.lease_until = in.time(column::lease_until);
  into.created_at = in.time(column::created_at);
  into.completed_at = in.time(column::completed_at);
  into.body_until = in.time(column::body_until);
  into.expires_at = in.time(column::expires_at);
  return into;
}

std::shared_ptr<const stored_answer> read_answer(const table& from_table, int row, int first) {
  const row_reader from{from_table, row, first};
  if (from.is_null(answer_column::form)) return nullptr;
  std::optional<std::string_view> body;
  if (!from.is_null(answer_column::body)) body = from.bytes(answer_column::body);
  result<stored_answer> answer = errc::corrupt;
  const std::int64_t form = from.integer(answer_column::form);
  if (form == form_of_sql) {
    answer = decode_plain_answer(static_cast<int>(from.integer(answer_column::status)),
                                 from.bytes(answer_column::headers), body,
                                 static_cast<body_omitted>(from.integer(answer_column::omitted)));
  } else if (form == form_of_ours) {
    answer = decode_answer(from.bytes(answer_column::head), body);
  }
  return answer ? std::make_shared<const stored_answer>(*std::move(answer)) : nullptr;
}

result<record> read_whole(const table& from, int row, int first, const identity* wanted) {
  result<record> made = read_record(from, row, first, wanted);
  if (made && made->state == record_state::completed) {
    made->answer = read_answer(from, row, first + column::count);
  }
  return made;
}

}  // namespace callonce::postgres::detail
