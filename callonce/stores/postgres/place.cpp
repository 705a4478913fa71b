#include <algorithm>
#include <charconv>

#include <callonce/stores/group_commit/pause.hpp>
#include <callonce/stores/postgres/migration.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>
#include <callonce/stores/postgres/place.hpp>

namespace callonce::postgres::detail {
namespace {

using namespace std::chrono_literals;

// ON CONFLICT on partitioned tables, procedures' row triggers and SKIP LOCKED are all there since
// 11; older ones than this are out of support.
constexpr std::int64_t oldest_version = 130000;

constexpr const char* ask_settings =
    "select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on', "
    "current_setting('synchronous_commit'), coalesce(current_setting('fsync', true), 'on'), "
    "current_setting('server_version_num')::bigint";
// Fails on servers that only speak PostgreSQL's language: they have no timelines.
constexpr const char* ask_timeline =
    "select substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

// Between two rounds over servers of which none can be used.
constexpr std::chrono::milliseconds pause_between_rounds = 50ms;

bool is_true(const table& of, int column) {
  return of.bytes(0, column) == std::string_view{"\1"};
}

}  // namespace

place::place(const std::string& url, environment& in)
    : environment_(in), servers_(servers_of(url)) {}

std::unique_ptr<session> place::connect(std::size_t turn, steady_time until,
                                        std::string& complaint) {
  // One that does not answer must leave time for the others.
  const auto share = (until - environment_.now()) / static_cast<long>(servers_.size());
  for (std::size_t each = 0; each < servers_.size(); ++each) {
    const server& to = servers_[(turn + each) % servers_.size()];
    const steady_time end = std::min(until, environment_.now() + share);
    std::string why;
    std::unique_ptr<session> made = session::open(to, environment_, end, why);
    if (made && look_at(*made, end, why) == finding::good) return made;
    complaint = to.name + ": " + why;
  }
  return nullptr;
}

std::unique_ptr<session> place::insist(steady_time until) {
  std::string complaint = "no answer";
  for (std::size_t turn = 0;; ++turn) {
    std::string latest;
    if (auto made = connect(turn, until, latest)) return made;
    // A round that was cut off by the end of patience says less than the one before it.
    if (turn == 0 || environment_.now() < until) complaint = std::move(latest);
    if (environment_.now() + pause_between_rounds >= until) break;
    group_commit::pause(pause_between_rounds);
  }
  throw misconfigured{"no primary server can be used (" + complaint +
                      "): start it, or mend the connection string"};
}

place::finding place::look_at(session& over, steady_time until, std::string& complaint) {
  const round_trip said = over.ask(ask_settings, until);
  if (!said.complete || !said.fault().empty()) {
    complaint = said.answers.empty() ? "no answer" : said.answers.front().complaint();
    return finding::elsewhere;
  }
  const table& is = said.answers.front();
  if (is_true(is, 0)) {
    complaint = "a hot standby, or read-only: claims need a primary";
    return finding::elsewhere;
  }
  if (is.integer(0, 3) < oldest_version) {
    throw misconfigured{"the server is older than PostgreSQL 13"};
  }
  if (is.bytes(0, 1) == "off") {
    throw misconfigured{
        "synchronous_commit is off for this role or database: an answer that was sent could be "
        "forgotten by a crash; set it to on"};
  }
  if (is.bytes(0, 2) == "off") {
    throw misconfigured{"the server runs with fsync = off: set it to on"};
  }
  return look_at_timeline(over, until, complaint);
}

place::finding place::look_at_timeline(session& over, steady_time until, std::string& complaint) {
  const round_trip said = over.ask(ask_timeline, until);
  if (!said.complete) return finding::elsewhere;
  if (!said.fault().empty() || said.answers.front().rows() == 0) return finding::good;
  const std::string_view text = said.answers.front().bytes(0, 0);
  std::uint64_t timeline = 0;
  std::from_chars(text.data(), text.data() + text.size(), timeline, 16);
  std::uint64_t newest = newest_timeline_;
  while (newest < timeline && !newest_timeline_.compare_exchange_weak(newest, timeline)) {
  }
  if (timeline >= newest) return finding::good;
  complaint = "a primary of before the last failover";
  return finding::elsewhere;
}

void expect_schema(session& over, steady_time until) {
  constexpr std::string_view no_such_table = "42P01";
  constexpr std::string_view no_such_schema = "3F000";
  constexpr std::string_view not_allowed = "42501";
  const round_trip said = over.ask(
      "select coalesce(max(number), 0)::bigint from "
      "callonce.migrations",
      until);
  const std::string_view fault = said.fault();
  if (fault == no_such_table || fault == no_such_schema) {
    throw misconfigured{"the database has no tables of callonce: run callonce migrate"};
  }
  if (fault == not_allowed) {
    throw misconfigured{
        "this role may not read the schema callonce: run callonce migrate --gateway-role"};
  }
  if (!said.complete || !fault.empty()) throw misconfigured{"the server does not answer"};
  const std::int64_t applied = said.answers.front().integer(0, 0);
  const std::int64_t known = known_migrations().back().number;
  if (applied < known) {
    throw misconfigured{"the tables of callonce have version " + std::to_string(applied) +
                        ", this build needs " + std::to_string(known) + ": run callonce migrate"};
  }
  if (applied > known) {
    throw misconfigured{"the tables of callonce were made by a newer build (version " +
                        std::to_string(applied) + ", this build knows " + std::to_string(known) +
                        "): run that one"};
  }
}

}  // namespace callonce::postgres::detail
