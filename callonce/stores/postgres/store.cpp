#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include <callonce/stores/group_commit/lane.hpp>
#include <callonce/stores/postgres/desk.hpp>
#include <callonce/stores/postgres/lane_connection.hpp>
#include <callonce/stores/postgres/row_connection.hpp>
#include <callonce/stores/postgres/store.hpp>

namespace callonce::postgres {
namespace {

using detail::message;
using detail::round_trip;

// The second says what is written down, whoever was first.
constexpr const char* write_rules =
    "insert into callonce.meta (name, value) values ('identity_rules', $1::text) "
    "on conflict (name) do nothing";
constexpr const char* replace_rules =
    "insert into callonce.meta (name, value) values ('identity_rules', $1::text) "
    "on conflict (name) do update set value = excluded.value";
constexpr const char* read_rules = "select value from callonce.meta where name = 'identity_rules'";

std::size_t lanes_of(const options& with) {
  constexpr std::size_t row_lanes = 8;
  if (with.lanes != 0) return with.lanes;
  if (with.statements == statement_form::rows) return row_lanes;
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

// One connection for one errand at start.
round_trip run_errand(detail::place& where, std::chrono::milliseconds patience,
                      std::span<const message> statements) {
  const steady_time until = where.in().now() + patience;
  const std::unique_ptr<detail::session> over = where.insist(until);
  round_trip said = over->ask(statements, until);
  if (!said.complete || !said.fault().empty()) {
    throw misconfigured{
        "the identity rules cannot be read or written: may this role use the "
        "schema callonce?"};
  }
  return said;
}

std::optional<std::string> text_of_first(const detail::table& of) {
  if (of.rows() == 0) return std::nullopt;
  return std::string{of.bytes(0, 0)};
}

}  // namespace

struct store::parts {
  parts(const std::string& url, const options& with, environment& from)
      : patience(with.timeout), where(url, from), desk(where, with) {
    const bool rows = with.statements == statement_form::rows;
    const auto within = rows ? detail::row_connection::one_by_one() : group_commit::limits{};
    for (std::size_t each = 0; each < lanes_of(with); ++each) {
      lanes.push_back(std::make_unique<group_commit::lane>(connect(with), from, with.timeout,
                                                           within, with.on_batch));
    }
  }

  std::unique_ptr<group_commit::connection> connect(const options& with) {
    if (with.statements == statement_form::rows) {
      return std::make_unique<detail::row_connection>(where, with.timeout, with.clocks);
    }
    return std::make_unique<detail::lane_connection>(where, with.timeout);
  }

  // Not the bytes by which tables of this process are spread.
  group_commit::lane& lane_of(const identity& id) {
    return *lanes[std::to_integer<std::size_t>(id.index().back()) % lanes.size()];
  }

  const std::chrono::milliseconds patience;
  detail::place where;
  detail::desk desk;
  std::vector<std::unique_ptr<group_commit::lane>> lanes;
};

store::store(const std::string& url, const options& with, environment& in)
    : parts_(std::make_unique<parts>(url, with, in)) {}

store::~store() = default;

void store::bind_identity_rules(std::string_view rules, bool accept_new) {
  message write{accept_new ? replace_rules : write_rules};
  write.with(detail::as_text(rules));
  const std::array statements{std::move(write), message{read_rules}};
  const round_trip said = run_errand(parts_->where, parts_->patience, statements);
  const std::optional<std::string> written = text_of_first(said.answers.back());
  if (written == detail::as_text(rules)) return;
  throw misconfigured{"the database was used with other identity rules (" +
                      written.value_or("none") + ", now " + std::string{rules} +
                      "): keys that are known under them would be run again as new ones"};
}

std::optional<std::string> store::identity_rules() {
  const message ask{read_rules};
  const round_trip said = run_errand(parts_->where, parts_->patience, std::span{&ask, 1});
  return text_of_first(said.answers.back());
}

asio::awaitable<result<claim_reply>> store::claim(const claim_request& wish) {
  return parts_->lane_of(wish.id).claim(wish);
}

asio::awaitable<result<write_reply>> store::renew(const fence& by) {
  return parts_->lane_of(by.id).renew(by);
}

asio::awaitable<result<write_reply>> store::complete(const fence& by,
                                                     std::shared_ptr<const stored_answer> answer) {
  return parts_->lane_of(by.id).complete(by, std::move(answer));
}

asio::awaitable<result<write_reply>> store::release(const fence& by,
                                                    std::chrono::milliseconds retention) {
  return parts_->lane_of(by.id).release(by, retention);
}

asio::awaitable<result<write_reply>> store::park(const fence& by) {
  return parts_->lane_of(by.id).park(by);
}

asio::awaitable<result<write_reply>> store::settle(const settlement& decision,
                                                   const settle_reason& reason) {
  return parts_->lane_of(decision.id).settle(decision, reason);
}

asio::awaitable<result<record_page>> store::find(const record_filter& which) {
  return parts_->desk.find(which);
}

asio::awaitable<result<purge_reply>> store::purge(std::size_t limit) {
  return parts_->desk.purge(limit);
}

store_traits store::traits() const {
  store_traits made;
  made.name = "postgres";
  made.durable = true;
  made.shared = true;
  made.co_commit = true;
  return made;
}

}  // namespace callonce::postgres
