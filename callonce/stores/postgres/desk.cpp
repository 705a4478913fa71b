#include <array>

#include <callonce/stores/postgres/desk.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>

namespace callonce::postgres::detail {
namespace {

using namespace std::chrono_literals;

// What a filter says, as SQL with its parameters.
class question {
 public:
  explicit question(const record_filter& which) {
    asked_.sql =
        std::string{"select "} + whole_columns + " from callonce.whole where id > $1::bigint";
    asked_.with_number(static_cast<std::int64_t>(which.after));
  }

  message& add(const std::string& term, const std::string& type) {
    asked_.sql +=
        " and " + term + " $" + std::to_string(asked_.parameters.size() + 1) + "::" + type;
    return asked_;
  }

  message finish(std::size_t limit) && {
    asked_.sql +=
        " order by id limit $" + std::to_string(asked_.parameters.size() + 1) + "::bigint";
    asked_.with_number(static_cast<std::int64_t>(limit));
    return std::move(asked_);
  }

 private:
  message asked_;
};

instant time_of(const table& from, int row, int column) {
  return instant{std::chrono::milliseconds{from.integer(row, column)}};
}

}  // namespace

desk::desk(place& where, std::chrono::milliseconds patience)
    : where_(where), patience_(patience), session_(where.insist(where.in().now() + patience)) {
  expect_schema(*session_, where.in().now() + patience);
}

asio::awaitable<result<record_page>> desk::find(const record_filter& which) {
  return clerk_.ask<record_page>([this, which] { return read_page(which); });
}

asio::awaitable<result<purge_reply>> desk::purge(std::size_t limit) {
  return clerk_.ask<purge_reply>([this, limit] { return purge_some(limit); });
}

// Nothing, when the server does not answer or refuses. A connection that went while nobody used it
// is replaced once.
std::optional<round_trip> desk::ask(std::span<const message> statements) {
  const steady_time until = where_.in().now() + patience_;
  for (int tries = 0; tries < 2; ++tries) {
    if (!session_->usable()) {
      std::string complaint;
      try {
        std::unique_ptr<session> fresh = where_.connect(++turn_, until, complaint);
        if (!fresh) return std::nullopt;
        session_ = std::move(fresh);
      } catch (const misconfigured&) {
        return std::nullopt;
      }
    }
    round_trip said = session_->ask(statements, until);
    if (said.complete && said.fault().empty()) return said;
    if (said.complete) {
      session_->ask("rollback", until);
      return std::nullopt;
    }
  }
  return std::nullopt;
}

result<record_page> desk::read_page(const record_filter& which) {
  record_page page;
  question all{which};
  if (which.exact) {
    all.add("key_index =", "uuid").with(std::string{text_of(which.exact->index())});
  }
  if (!which.record_id.empty()) {
    const auto first = from_hex(which.record_id + std::string(16, '0'));
    const auto last = from_hex(which.record_id + std::string(16, 'f'));
    if (!first || which.record_id.size() != 16) return page;
    all.add("key_index >=", "uuid").with(*first);
    all.add("key_index <=", "uuid").with(*last);
  }
  if (which.state) {
    all.add("state =", "bigint").with_number(static_cast<std::int64_t>(*which.state));
  }
  if (!which.route.empty()) all.add("route =", "text").with(as_text(which.route));
  if (which.older_than > 0ms) {
    all.add("callonce.wall_clock() - created_at_ms >=", "bigint")
        .with_number(which.older_than.count());
  }
  const message statement = std::move(all).finish(which.limit + 1);
  const message clocks{"select callonce.wall_clock(), callonce.lease_clock()"};
  const std::array both{clocks, statement};
  const std::optional<round_trip> said = ask(both);
  if (!said) return errc::unavailable;

  page.read_at = {time_of(said->answers[0], 0, 1), time_of(said->answers[0], 0, 0)};
  const table& found = said->answers[1];
  for (int row = 0; row < found.rows(); ++row) {
    if (static_cast<std::size_t>(row) == which.limit) {
      page.next = id_of(found, row - 1, 0);
      break;
    }
    result<record> met = read_record(found, row, 0, which.exact ? &*which.exact : nullptr);
    // An unreadable one must not hide the others; asked for alone, it says so.
    if (!met && which.exact) return met.error();
    if (met) page.records.push_back(*std::move(met));
  }
  return page;
}

// What a crash forgets of it is done again: it need not wait for the disk.
result<purge_reply> desk::purge_some(std::size_t limit) {
  message some{
      "select last, seen::bigint, bodies::bigint, records::bigint, parked::bigint from "
      "callonce.purge_some($1::bigint, $2::bigint::integer)"};
  some.with_number(purged_to_).with_number(static_cast<std::int64_t>(limit));
  const std::array all{message{"begin isolation level read committed read write"},
                       message{"set local synchronous_commit = off"}, some, message{"commit"}};
  const std::optional<round_trip> said = ask(all);
  if (!said) return errc::unavailable;
  const table& done = said->answers[2];
  purge_reply made;
  made.bodies = static_cast<std::uint64_t>(done.integer(0, 2));
  made.records = static_cast<std::uint64_t>(done.integer(0, 3));
  made.parked = static_cast<std::uint64_t>(done.integer(0, 4));
  made.more = static_cast<std::size_t>(done.integer(0, 1)) == limit;
  purged_to_ = made.more ? done.integer(0, 0) : 0;
  return made;
}

}  // namespace callonce::postgres::detail
