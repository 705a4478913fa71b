#include <algorithm>

#include <sqlite3.h>

#include <callonce/core/codec.hpp>
#include <callonce/stores/sqlite/rows.hpp>

namespace callonce::sqlite::detail {
namespace {

// The order of `columns()`; `bind_fields` counts from 1 in the same order without the first.
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
    boot,
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
    route
  };
};

constexpr const char* fields =
    "key_index, scope, key, rule, fingerprint, state, attempt, claim_id, boot, lease_until_ms, "
    "created_at_ms, completed_at_ms, body_until_ms, expires_at_ms, lease_ms, retention_ms, "
    "key_retention_ms, response_body_max, park, route";

constexpr const char* update_sql =
    "update callonce_record set rule = ?4, fingerprint = ?5, state = ?6, attempt = ?7, "
    "claim_id = ?8, boot = ?9, lease_until_ms = ?10, created_at_ms = ?11, completed_at_ms = ?12, "
    "body_until_ms = ?13, expires_at_ms = ?14, lease_ms = ?15, retention_ms = ?16, "
    "key_retention_ms = ?17, response_body_max = ?18, park = ?19, route = ?20 where id = ?21";
constexpr int update_id = 21;

instant instant_of(const statement& from, int at) {
  return instant{std::chrono::milliseconds{from.integer(at)}};
}

std::chrono::milliseconds duration_of(const statement& from, int at) {
  return std::chrono::milliseconds{from.integer(at)};
}

template <std::size_t Size>
bool copy(const statement& from, int at, std::array<std::byte, Size>& into) {
  const std::span<const std::byte> bytes = from.bytes(at);
  if (bytes.size() != Size) return false;
  std::copy(bytes.begin(), bytes.end(), into.begin());
  return true;
}

bool is_state(std::int64_t number) {
  return number >= static_cast<std::int64_t>(record_state::claimed) &&
         number <= static_cast<std::int64_t>(record_state::parked);
}

// The order of what is read of an answer; of the last three only form 0 has values.
struct answer_column {
  enum : int { form, head, body, status, headers, omitted };
};

// Who wrote an answer, and so how it is read.
constexpr std::int64_t form_of_sql = 0;
constexpr std::int64_t form_of_ours = 1;

result<stored_answer> read_written_in_sql(const statement& from,
                                          std::optional<std::string_view> body) {
  const auto within = [&](int at, int most) {
    return static_cast<int>(std::clamp<std::int64_t>(from.integer(at), 0, most));
  };
  const auto omitted = static_cast<body_omitted>(
      within(answer_column::omitted, static_cast<int>(body_omitted::expired)));
  return decode_plain_answer(within(answer_column::status, 1000), from.text(answer_column::headers),
                             body, omitted);
}

std::int64_t register_boot(database& in, const std::string& boot_id) {
  statement add{in, "insert or ignore into callonce_boot (boot_id) values (?1)"};
  statement ask{in, "select number from callonce_boot where boot_id = ?1"};
  ask.bind(1, std::string_view{boot_id});
  if (!ask.step()) {
    add.bind(1, std::string_view{boot_id});
    add.run();
    ask.reset();
    ask.step();
  }
  return ask.integer(0);
}

}  // namespace

rows::rows(database& in, const clocks& by)
    : database_(in),
      clocks_(by),
      boot_(register_boot(in, by.boot_id)),
      find_(in, "select " + columns() + " from callonce_record where key_index = ?1"),
      insert_(in, std::string{"insert into callonce_record ("} + fields +
                      ") values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
                      "?16, ?17, ?18, ?19, ?20)"),
      update_(in, update_sql),
      find_answer_(in,
                   "select form, head, body, status, headers, omitted from callonce_answer "
                   "where id = ?1"),
      write_answer_(in,
                    "insert or replace into callonce_answer (id, head, body) values (?1, ?2, ?3)"),
      drop_body_(in, "update callonce_answer set body = null where id = ?1"),
      remove_answer_(in, "delete from callonce_answer where id = ?1"),
      remove_(in, "delete from callonce_record where id = ?1") {}

const std::string& rows::columns() {
  static const std::string all = std::string{"id, "} + fields;
  return all;
}

result<std::optional<row>> rows::find(const identity& wanted) {
  const reset_at_end guard{find_};
  find_.bind(1, std::span<const std::byte>{wanted.index()});
  if (!find_.step()) return std::optional<row>{};
  // Told apart before anything is believed: two keys under one index are a fault, never a match.
  if (find_.text(column::key) != wanted.key().bytes() ||
      !std::ranges::equal(find_.bytes(column::scope), wanted.scope())) {
    return errc::corrupt;
  }
  result<row> met = read(find_, &wanted);
  if (!met) return met.error();
  return std::optional<row>{*std::move(met)};
}

result<row> rows::read(const statement& from, const identity* known) {
  scope_hash scope_read;
  row made;
  record& into = made.current;
  made.id = from.integer(column::id);
  const std::string_view key_read = from.text(column::key);
  const std::int64_t state_read = from.integer(column::state);
  const bool whole = copy(from, column::scope, scope_read) &&
                     copy(from, column::fingerprint, into.fingerprint.value) &&
                     copy(from, column::claim, into.claim_id) && is_state(state_read) &&
                     !key_read.empty() && key_read.size() <= callonce::key::bytes_max &&
                     from.integer(column::attempt) > 0;
  if (!whole) return errc::corrupt;

  into.id = known != nullptr ? *known : identity{scope_read, callonce::key{std::string{key_read}}};
  into.fingerprint.rule = fingerprint_rule::from_text(std::string{from.text(column::rule)});
  into.state = static_cast<record_state>(state_read);
  into.attempt = static_cast<std::uint32_t>(from.integer(column::attempt));
  into.terms.lease = duration_of(from, column::lease);
  into.terms.retention = duration_of(from, column::retention);
  into.terms.key_retention = duration_of(from, column::key_retention);
  into.terms.response_body_max = static_cast<std::uint64_t>(from.integer(column::body_max));
  into.terms.park = from.integer(column::park) != 0;
  into.terms.route = from.text(column::route);
  into.created_at = instant_of(from, column::created_at);
  into.completed_at = instant_of(from, column::completed_at);
  into.body_until = instant_of(from, column::body_until);
  into.expires_at = instant_of(from, column::expires_at);
  // How much of a lease was left when the host went down is not known: it has lapsed for sure when
  // its whole length has passed since this boot.
  const bool this_boot = from.integer(column::boot) == boot_;
  into.lease_until = this_boot ? instant_of(from, column::lease_until) : instant{into.terms.lease};
  if (into.state == record_state::completed) into.answer = read_answer(made.id);
  return made;
}

std::shared_ptr<const stored_answer> rows::read_answer(std::int64_t of) {
  const reset_at_end guard{find_answer_};
  find_answer_.bind(1, of);
  if (!find_answer_.step()) return nullptr;
  std::optional<std::string_view> body;
  if (!find_answer_.is_null(answer_column::body)) body = find_answer_.text(answer_column::body);
  result<stored_answer> answer = errc::corrupt;
  const std::int64_t form = find_answer_.integer(answer_column::form);
  if (form == form_of_sql) {
    answer = read_written_in_sql(find_answer_, body);
  } else if (form == form_of_ours) {
    answer = decode_answer(find_answer_.text(answer_column::head), body);
  }
  return answer ? std::make_shared<const stored_answer>(*std::move(answer)) : nullptr;
}

void rows::bind_fields(statement& to, const record& next) {
  const auto number = [&](int at, auto value) { to.bind(at, static_cast<std::int64_t>(value)); };
  const auto bytes = [&](int at, std::span<const std::byte> value) { to.bind(at, value); };
  const auto time = [&](int at, instant value) { number(at, value.time_since_epoch().count()); };

  bytes(column::key_index, next.id.index());
  bytes(column::scope, next.id.scope());
  bytes(column::key, bytes_of(next.id.key().bytes()));
  to.bind(column::rule, std::string_view{next.fingerprint.rule.text()});
  bytes(column::fingerprint, next.fingerprint.value);
  number(column::state, next.state);
  number(column::attempt, next.attempt);
  bytes(column::claim, next.claim_id);
  number(column::boot, boot_);
  time(column::lease_until, next.lease_until);
  time(column::created_at, next.created_at);
  time(column::completed_at, next.completed_at);
  time(column::body_until, next.body_until);
  time(column::expires_at, next.expires_at);
  number(column::lease, next.terms.lease.count());
  number(column::retention, next.terms.retention.count());
  number(column::key_retention, next.terms.key_retention.count());
  number(column::body_max, next.terms.response_body_max);
  number(column::park, next.terms.park);
  to.bind(column::route, std::string_view{next.terms.route});
}

void rows::write(const record& next, const row* found) {
  if (found == nullptr) {
    bind_fields(insert_, next);
    insert_.run();
    return;
  }
  // ?1 to ?3, what a row is found by, are bound and not used.
  bind_fields(update_, next);
  update_.bind(update_id, found->id);
  update_.run();
  const bool was_completed = found->current.state == record_state::completed;
  if (next.state == record_state::completed) {
    write_answer(found->id, *next.answer);
  } else if (was_completed) {
    remove_answer_.bind(1, found->id);
    remove_answer_.run();
  }
}

void rows::write_answer(std::int64_t of, const stored_answer& answer) {
  const std::optional<std::string> small = compress_body(answer);
  const std::string head = encode_head(answer, small ? body_coding::zstd : body_coding::plain);
  write_answer_.bind(1, of);
  write_answer_.bind(2, bytes_of(head));
  if (answer.body.empty()) {
    write_answer_.bind_null(3);
  } else if (small) {
    write_answer_.bind(3, bytes_of(*small));
  } else {
    write_answer_.bind(3, answer.body.bytes());
  }
  write_answer_.run();
}

void rows::drop_body(std::int64_t of) {
  drop_body_.bind(1, of);
  drop_body_.run();
}

void rows::remove(std::int64_t of) {
  for (statement* each : {&remove_answer_, &remove_}) {
    each->bind(1, of);
    each->run();
  }
}

}  // namespace callonce::sqlite::detail
