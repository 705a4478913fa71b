#include <algorithm>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <sqlite3.h>

#include <callonce/core/digest.hpp>
#include <callonce/engine/completion.hpp>
#include <callonce/stores/sqlite/desk.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;

constexpr int cache_kib = 8 * 1024;
constexpr std::chrono::milliseconds patience_for_the_lock = 1s;
// Removing a key costs some 40 µs, most of it in the index: a turn stays below 10 ms.
constexpr std::size_t records_a_turn = 200;

// A superset of what core/transition will find due; it decides row by row when they are written.
constexpr const char* choose_sql =
    "select id, expires_at_ms <= ?3 or (state = 1 and park = 1) or (state = 2 and "
    "body_until_ms <= ?3 and exists (select 1 from callonce_answer a where a.id = r.id and "
    "length(a.body) > 0)) from callonce_record r where id > ?1 order by id limit ?2";

// What a filter says, as SQL with its parameters.
struct condition {
  std::string sql = " where id > ?1";
  std::vector<std::function<void(statement&, int)>> parameters;

  template <class Value>
  void add(const std::string& term, Value value) {
    const int number = static_cast<int>(parameters.size()) + 2;
    sql += " and " + term + " ?" + std::to_string(number);
    parameters.emplace_back([value](statement& to, int at) { to.bind(at, value); });
  }
};

std::int64_t number_of(instant at) {
  return at.time_since_epoch().count();
}

}  // namespace

desk::desk(const std::filesystem::path& file, environment& in, const clocks& by)
    : database_(file, in, cache_kib),
      turnstile_(file, in),
      rows_(database_, by),
      choose_(database_, choose_sql),
      one_(database_, "select " + rows::columns() + " from callonce_record where id = ?1"),
      thread_([this] { work(); }) {}

desk::~desk() {
  {
    const std::lock_guard guard{mutex_};
    stopping_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

void desk::work() {
  std::unique_lock held{mutex_};
  for (;;) {
    asked_.wait(held, [&] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    held.unlock();
    database_.clear_fault();
    task();
    held.lock();
  }
}

template <class Reply, class Work>
asio::awaitable<result<Reply>> desk::ask(Work work) {
  using completion = callonce::detail::completion<result<Reply>>;
  auto start = [&](completion resuming) {
    // std::function wants what can be copied.
    auto waiting = std::make_shared<completion>(std::move(resuming));
    const auto task = [waiting, work] {
      const asio::any_io_executor executor = waiting->executor();
      // Keeps the executor from ending while this thread is still inside the post.
      const auto alive = asio::make_work_guard(executor);
      asio::post(executor, [waiting, said = work()]() mutable { (*waiting)(std::move(said)); });
    };
    {
      const std::lock_guard guard{mutex_};
      tasks_.emplace_back(task);
    }
    asked_.notify_one();
  };
  co_return co_await callonce::detail::suspend<result<Reply>>(start);
}

asio::awaitable<result<record_page>> desk::find(const record_filter& which) {
  return ask<record_page>([this, which] { return read_page(which); });
}

asio::awaitable<result<purge_reply>> desk::purge(std::size_t limit) {
  return ask<purge_reply>([this, limit] { return purge_some(limit); });
}

result<record_page> desk::read_page(const record_filter& which) {
  record_page page;
  page.read_at = rows_.now();

  condition all;
  const auto first = from_hex(which.record_id + std::string(16, '0'));
  const auto last = from_hex(which.record_id + std::string(16, 'f'));
  if (which.exact) {
    all.add("key_index =", std::span<const std::byte>{which.exact->index()});
  }
  if (!which.record_id.empty()) {
    if (!first || which.record_id.size() != 16) return page;
    all.add("key_index >=", bytes_of(*first));
    all.add("key_index <=", bytes_of(*last));
  }
  if (which.state) all.add("state =", static_cast<std::int64_t>(*which.state));
  if (!which.route.empty()) all.add("route =", std::string_view{which.route});
  if (which.older_than > 0ms) {
    all.add("created_at_ms <=", number_of(page.read_at.wall - which.older_than));
  }

  statement ask{database_,
                "select " + rows::columns() + " from callonce_record" + all.sql + " order by id"};
  ask.bind(1, static_cast<std::int64_t>(which.after));
  int at = 2;
  for (const auto& bind : all.parameters) bind(ask, at++);

  std::uint64_t last_id = 0;
  while (ask.step()) {
    if (page.records.size() == which.limit) {
      page.next = last_id;
      break;
    }
    result<row> met = rows_.read(ask);
    last_id = static_cast<std::uint64_t>(ask.integer(0));
    // An unreadable one must not hide the others; asked for alone, it says so.
    if (!met && which.exact) return met.error();
    if (met && (!which.exact || met->current.id == *which.exact)) {
      page.records.push_back(std::move(met->current));
    }
  }
  if (database_.fault() != SQLITE_OK) return errc::unavailable;
  return page;
}

std::vector<std::int64_t> desk::choose_due(std::size_t limit, moment now, purge_reply& into) {
  const reset_at_end guard{choose_};
  choose_.bind(1, purged_to_);
  choose_.bind(2, static_cast<std::int64_t>(limit));
  choose_.bind(3, number_of(now.wall));
  std::vector<std::int64_t> due;
  std::size_t seen = 0;
  for (; choose_.step(); ++seen) {
    purged_to_ = choose_.integer(0);
    if (choose_.integer(1) != 0) due.push_back(purged_to_);
  }
  into.more = seen == limit;
  if (!into.more) purged_to_ = 0;
  return due;
}

result<purge_reply> desk::purge_some(std::size_t limit) {
  purge_reply reply;
  const std::vector<std::int64_t> due = choose_due(limit, rows_.now(), reply);
  for (std::span<const std::int64_t> left{due}; !left.empty();) {
    const auto turn = left.first(std::min(records_a_turn, left.size()));
    if (!purge_chosen(turn, reply)) return errc::unavailable;
    left = left.subspan(turn.size());
  }
  if (database_.fault() != SQLITE_OK) return errc::unavailable;
  return reply;
}

bool desk::purge_chosen(std::span<const std::int64_t> due, purge_reply& into) {
  const turn mine{turnstile_};
  bool good = database_.begin(patience_for_the_lock);
  const moment now = rows_.now();
  for (const std::int64_t id : due) good = good && purge_one(id, now, into);
  good = good && database_.execute("commit") == SQLITE_OK;
  database_.roll_back();
  return good;
}

// Judged again inside the transaction: a renewal, or a new claim, may have come in between.
bool desk::purge_one(std::int64_t id, moment now, purge_reply& into) {
  const reset_at_end guard{one_};
  one_.bind(1, id);
  if (!one_.step()) return database_.fault() == SQLITE_OK;
  const result<row> met = rows_.read(one_);
  one_.reset();
  if (!met) return true;
  switch (on_purge(met->current, now)) {
    case purge_verdict::keep:
      break;
    case purge_verdict::drop_body:
      rows_.drop_body(id);
      ++into.bodies;
      break;
    case purge_verdict::park: {
      record next = met->current;
      next.state = record_state::parked;
      rows_.write(next, &*met);
      ++into.parked;
      break;
    }
    case purge_verdict::remove:
      rows_.remove(id);
      ++into.records;
      break;
  }
  return database_.fault() == SQLITE_OK;
}

}  // namespace callonce::sqlite::detail
