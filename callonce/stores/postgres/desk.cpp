#include <array>

#include <callonce/stores/postgres/desk.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>

namespace callonce::postgres::detail {
namespace {

using namespace std::chrono_literals;

// What a filter says, as SQL with its parameters.
class question {
 public:
  question(const record_filter& which, statement_form form) {
    asked_.sql = form == statement_form::rows
                     ? std::string{"select "} + record_columns + " from callonce.record"
                     : "select " + whole_columns() + " from callonce.whole";
    asked_.sql += " where id > $1::bigint";
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

clock_expressions clocks_of(const options& with) {
  if (with.statements == statement_form::rows) return with.clocks;
  return {"callonce.lease_clock()", "callonce.wall_clock()"};
}

}  // namespace

desk::desk(place& where, const options& with)
    : where_(where),
      patience_(with.timeout),
      form_(with.statements),
      clocks_(clocks_of(with)),
      session_(where.insist(where.in().now() + patience_)) {
  expect_schema(*session_, where.in().now() + patience_);
}

asio::awaitable<result<record_page>> desk::find(const record_filter& which) {
  return clerk_.ask<record_page>([this, which] { return read_page(which); });
}

asio::awaitable<result<purge_reply>> desk::purge(std::size_t limit) {
  return clerk_.ask<purge_reply>([this, limit] {
    return form_ == statement_form::rows ? purge_rows(limit) : purge_some(limit);
  });
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
  question all{which, form_};
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
    all.add(clocks_.wall + " - created_at_ms >=", "bigint").with_number(which.older_than.count());
  }
  const message statement = std::move(all).finish(which.limit + 1);
  const std::array both{ask_clocks(clocks_), statement};
  const std::optional<round_trip> said = ask(both);
  if (!said) return errc::unavailable;

  page.read_at = read_moment(said->answers[0]);
  const table& found = said->answers[1];
  std::vector<row> met;
  for (int at = 0; at < found.rows(); ++at) {
    if (static_cast<std::size_t>(at) == which.limit) {
      page.next = id_of(found, at - 1, 0);
      break;
    }
    const identity* wanted = which.exact ? &*which.exact : nullptr;
    result<record> one = form_ == statement_form::rows ? read_record(found, at, 0, wanted)
                                                       : read_whole(found, at, 0, wanted);
    // An unreadable one must not hide the others; asked for alone, it says so.
    if (!one && which.exact) return one.error();
    if (one) met.push_back({id_of(found, at, 0), *std::move(one)});
  }
  const auto any = [](const record&) { return true; };
  if (form_ == statement_form::rows && !add_answers(met, any)) return errc::unavailable;
  for (row& each : met) page.records.push_back(std::move(each.current));
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
