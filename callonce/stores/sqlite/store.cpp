#include <sqlite3.h>

#include <callonce/stores/group_commit/lane.hpp>
#include <callonce/stores/sqlite/desk.hpp>
#include <callonce/stores/sqlite/migrate.hpp>
#include <callonce/stores/sqlite/store.hpp>
#include <callonce/stores/sqlite/writer.hpp>

namespace callonce::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr int small_cache_kib = 512;
constexpr std::chrono::milliseconds patience_at_start = 5s;

// One after the other also between processes: the first makes the tables, the next finds them.
std::filesystem::path prepare(const std::filesystem::path& file, environment& in,
                              const clocks& by) {
  std::filesystem::path path = detail::prepare_file(file);
  detail::turnstile door{path, in};
  const detail::turn mine{door};
  detail::database over{path, in, small_cache_kib};
  detail::migrate(over, by);
  return path;
}

std::optional<std::string> read_meta(detail::database& in, std::string_view name) {
  detail::statement ask{in, "select value from callonce_meta where name = ?1"};
  ask.bind(1, name);
  if (!ask.step()) return std::nullopt;
  return std::string{ask.text(0)};
}

constexpr std::string_view identity_rules_name = "identity_rules";

}  // namespace

struct store::parts {
  parts(const std::filesystem::path& file, const options& with, environment& from)
      : in(from),
        clocks(with.clocks ? *with.clocks : host_clocks(in)),
        path(prepare(file, in, clocks)),
        desk(path, in, clocks),
        checkpointer(path, in),
        lane(std::make_unique<detail::writer>(path, in, clocks, checkpointer), in, with.timeout, {},
             with.on_batch) {}

  environment& in;
  const sqlite::clocks clocks;
  const std::filesystem::path path;
  detail::desk desk;
  detail::checkpointer checkpointer;
  group_commit::lane lane;
};

store::store(const std::filesystem::path& file, const options& with, environment& in)
    : parts_(std::make_unique<parts>(file, with, in)) {}

store::~store() = default;

void store::bind_identity_rules(std::string_view rules, bool accept_new) {
  detail::database over{parts_->path, parts_->in, small_cache_kib};
  detail::turnstile door{parts_->path, parts_->in};
  const detail::turn mine{door};
  if (!over.begin(patience_at_start)) {
    throw misconfigured{"the file cannot be written: " + over.message()};
  }
  const std::optional<std::string> written = read_meta(over, identity_rules_name);
  if (written && *written != rules && !accept_new) {
    throw misconfigured{"the file was used with other identity rules (" + *written + ", now " +
                        std::string{rules} +
                        "): keys that are known under them would be run again as new ones"};
  }
  detail::statement write{over,
                          "insert or replace into callonce_meta (name, value) values (?1, ?2)"};
  write.bind(1, identity_rules_name);
  write.bind(2, rules);
  write.run();
  if (over.fault() != SQLITE_OK || over.execute("commit") != SQLITE_OK) {
    throw misconfigured{"the identity rules cannot be written: " + over.message()};
  }
}

std::optional<std::string> store::identity_rules() {
  detail::database over{parts_->path, parts_->in, small_cache_kib};
  return read_meta(over, identity_rules_name);
}

asio::awaitable<result<claim_reply>> store::claim(const claim_request& wish) {
  return parts_->lane.claim(wish);
}

asio::awaitable<result<write_reply>> store::renew(const fence& by) {
  return parts_->lane.renew(by);
}

asio::awaitable<result<write_reply>> store::complete(const fence& by,
                                                     std::shared_ptr<const stored_answer> answer) {
  return parts_->lane.complete(by, std::move(answer));
}

asio::awaitable<result<write_reply>> store::release(const fence& by,
                                                    std::chrono::milliseconds retention) {
  return parts_->lane.release(by, retention);
}

asio::awaitable<result<write_reply>> store::park(const fence& by) {
  return parts_->lane.park(by);
}

asio::awaitable<result<write_reply>> store::settle(const settlement& decision,
                                                   const settle_reason& reason) {
  return parts_->lane.settle(decision, reason);
}

asio::awaitable<result<record_page>> store::find(const record_filter& which) {
  return parts_->desk.find(which);
}

asio::awaitable<result<purge_reply>> store::purge(std::size_t limit) {
  return parts_->desk.purge(limit);
}

store_traits store::traits() const {
  store_traits made;
  made.name = "sqlite";
  made.durable = true;
  made.shared = true;
  made.co_commit = true;
  return made;
}

}  // namespace callonce::sqlite
