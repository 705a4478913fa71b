// PostgreSQL figures: pairs in batches against a transaction each, and effect plus key in one
// transaction against the bare effect. One server, one run, the sides in turn.
//   bench-postgres server           starts a server with the tables, says its URL, waits for EOF
//   bench-postgres figures FILE     measures, and adds to the JSON

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <bench/support/report.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <libpq-fe.h>
#include <tests/support/postgres_server.hpp>

#include <callonce/core/codec.hpp>
#include <callonce/stores/postgres/co_commit.hpp>
#include <callonce/stores/postgres/migrate.hpp>
#include <callonce/stores/postgres/store.hpp>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using callonce::tests::postgres_server;

constexpr auto each_side = 2s;
constexpr int rounds = 5;

// The row that `docs/internals/performance.md` speaks of.
std::shared_ptr<const callonce::stored_answer> sample_answer() {
  callonce::stored_answer made;
  made.status = 201;
  made.headers.add("Content-Type", "application/json");
  made.headers.add("Location", "/v1/charges/ch_00000000000000000000000001");
  made.headers.add("Cache-Control", "no-store");
  made.body = callonce::body_bytes{std::string(256, 'x')};
  return std::make_shared<const callonce::stored_answer>(std::move(made));
}

callonce::claim_request next_wish() {
  static std::uint64_t number = 0;
  callonce::claim_request made;
  const std::string text = std::to_string(++number);
  made.id = callonce::identity{callonce::scope_hash{},
                               callonce::key{"bench-" + std::string(30 - text.size(), '0') + text}};
  made.claim_id = callonce::new_claim_id(callonce::system_environment());
  made.terms.lease = 60s;
  made.terms.retention = 24h;
  made.terms.key_retention = 168h;
  made.terms.response_body_max = 1 << 20;
  return made;
}

// Calls `once` for as long as a side lasts. Post: calls a second.
double rate_of(const std::function<void()>& once) {
  const auto start = clock_type::now();
  std::uint64_t count = 0;
  while (clock_type::now() - start < each_side) {
    once();
    ++count;
  }
  return static_cast<double>(count) /
         std::chrono::duration<double>(clock_type::now() - start).count();
}

void expect(bool good, const std::string& what) {
  if (!good) throw std::runtime_error{what};
}

class connection {
 public:
  explicit connection(const std::string& url) : over_(PQconnectdb(url.c_str())) {
    expect(PQstatus(over_) == CONNECTION_OK, "no connection");
  }
  ~connection() { PQfinish(over_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void prepare(const char* name, const std::string& sql) {
    check(PQprepare(over_, name, sql.c_str(), 0, nullptr));
  }
  void run(const char* sql) { check(PQexec(over_, sql)); }
  void run_prepared(const char* name, const std::vector<callonce::postgres::parameter>& with) {
    bind(with);
    check(PQexecPrepared(over_, name, static_cast<int>(with.size()), values_.data(),
                         lengths_.data(), formats_.data(), 0));
  }

  void begin_pipeline() { expect(PQenterPipelineMode(over_) == 1, "no pipeline"); }
  void send(const char* name, const std::vector<callonce::postgres::parameter>& with) {
    bind(with);
    expect(PQsendQueryPrepared(over_, name, static_cast<int>(with.size()), values_.data(),
                               lengths_.data(), formats_.data(), 0) == 1,
           "not sent");
  }
  void finish_pipeline(int statements) {
    expect(PQpipelineSync(over_) == 1, "no sync");
    for (int each = 0; each < statements; ++each) {
      check(PQgetResult(over_));
      PQclear(PQgetResult(over_));
    }
    PQclear(PQgetResult(over_));
  }

 private:
  void bind(const std::vector<callonce::postgres::parameter>& with) {
    values_.clear();
    lengths_.clear();
    formats_.clear();
    for (const auto& each : with) {
      values_.push_back(each.value.c_str());
      lengths_.push_back(static_cast<int>(each.value.size()));
      formats_.push_back(each.is_bytes ? 1 : 0);
    }
  }
  void check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    const std::string why = PQresultErrorMessage(result);
    PQclear(result);
    expect(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, why);
  }

  PGconn* over_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

callonce::asio::awaitable<void> pairs(callonce::store& over, clock_type::time_point until,
                                      std::uint64_t& count) {
  const auto answer = sample_answer();
  while (clock_type::now() < until) {
    const callonce::claim_request claim = next_wish();
    const auto won = co_await over.claim(claim);
    expect(won.has_value(), "a claim failed");
    const callonce::fence by{claim.id, claim.claim_id, won->current.attempt};
    const auto done = co_await over.complete(by, answer);
    expect(done && done->verdict == callonce::write_verdict::done, "a completion failed");
    ++count;
  }
}

double pairs_in_batches(const std::string& url) {
  constexpr int at_once = 64;
  callonce::postgres::options with;
  with.lanes = 1;
  callonce::postgres::store over{url, with};
  callonce::asio::io_context io{1};
  std::uint64_t count = 0;
  const auto start = clock_type::now();
  for (int each = 0; each < at_once; ++each) {
    callonce::asio::co_spawn(io, pairs(over, start + each_side, count), callonce::asio::detached);
  }
  io.run();
  return static_cast<double>(count) /
         std::chrono::duration<double>(clock_type::now() - start).count();
}

double pairs_row_by_row(const std::string& url) {
  connection over{url};
  const auto answer = sample_answer();
  const std::string head = callonce::encode_head(*answer);
  over.prepare("claim",
               "insert into callonce.record (key_index, scope, key, rule, fingerprint, state, "
               "attempt, claim_id, lease_until_ms, created_at_ms, expires_at_ms, lease_ms, "
               "retention_ms, key_retention_ms, response_body_max, park, route) values ($1::uuid, "
               "$2::bytea, $3::bytea, 'raw', $4::bytea, 1, 1, $5::uuid, 1, 1, 1, 60000, 86400000, "
               "604800000, 1048576, false, '') on conflict (key_index) do nothing returning id");
  over.prepare("complete",
               "with done as (update callonce.record set state = 2, completed_at_ms = 1, "
               "body_until_ms = 1, expires_at_ms = 1 where key_index = $1::uuid and claim_id = "
               "$2::uuid and attempt = 1 and state = 1 returning id) insert into callonce.answer "
               "(id, form, head, body) select id, 1, $3::bytea, $4::bytea from done");
  return rate_of([&] {
    const callonce::claim_request wish = next_wish();
    const std::string index = callonce::to_hex(wish.id.index());
    const std::string claim = callonce::to_hex(wish.claim_id);
    const auto raw = [](std::span<const std::byte> of) {
      return callonce::postgres::parameter{std::string{callonce::text_of(of)}, true};
    };
    over.run_prepared("claim", {{index, false},
                                raw(wish.id.scope()),
                                {std::string{wish.id.key().bytes()}, true},
                                raw(wish.fingerprint.value),
                                {claim, false}});
    over.run_prepared(
        "complete",
        {{index, false}, {claim, false}, {head, true}, {std::string{answer->body.text()}, true}});
  });
}

constexpr const char* effect_sql =
    "insert into orders (customer, amount, note) values ($1, $2::bigint, $3)";
const std::vector<callonce::postgres::parameter> effect{
    {"anna", false}, {"1200", false}, {"two of them, please", false}};

double plain_effect(const std::string& url) {
  connection over{url};
  over.prepare("effect", effect_sql);
  return rate_of([&] {
    over.run("begin");
    over.run_prepared("effect", effect);
    over.run("commit");
  });
}

// What goes out before one sync is one transaction, without BEGIN and COMMIT.
double pipelined_effect(const std::string& url) {
  connection over{url};
  over.prepare("effect", effect_sql);
  over.begin_pipeline();
  return rate_of([&] {
    over.send("effect", effect);
    over.finish_pipeline(1);
  });
}

double co_committed_effect(const std::string& url) {
  connection over{url};
  const auto answer = sample_answer();
  over.prepare("once", callonce::postgres::once_statement(next_wish(), *answer).sql);
  over.prepare("effect", effect_sql);
  over.begin_pipeline();
  return rate_of([&] {
    const callonce::postgres::statement once =
        callonce::postgres::once_statement(next_wish(), *answer);
    over.send("once", once.parameters);
    over.send("effect", effect);
    over.finish_pipeline(2);
  });
}

void figures(const std::string& file) {
  postgres_server server;
  callonce::postgres::migrate(server.socket_url());
  callonce::tests::postgres_client{server.socket_url()}.ask(
      "create table orders (id bigint generated always as identity primary key, customer text, "
      "amount bigint, note text, made_at timestamptz default now())");
  const std::string url = server.socket_url();
  std::vector<double> batched;
  std::vector<double> single;
  std::vector<double> gain;
  std::vector<double> to_plain;
  std::vector<double> to_pipelined;
  for (int round = 0; round < rounds; ++round) {
    std::cerr << "round " << round + 1 << " of " << rounds << '\n';
    single.push_back(pairs_row_by_row(url));
    batched.push_back(pairs_in_batches(url));
    gain.push_back(batched.back() / single.back());
    const double plain = plain_effect(url);
    const double pipelined = pipelined_effect(url);
    const double co_committed = co_committed_effect(url);
    std::cerr << "  effects a second: plain " << plain << ", pipelined " << pipelined
              << ", with the key " << co_committed << '\n';
    to_plain.push_back(co_committed / plain);
    to_pipelined.push_back(co_committed / pipelined);
  }
  bench::report made;
  made.add("pairs_per_second_64", bench::median(batched));
  made.add("pairs_per_second_row_by_row", bench::median(single));
  made.add("pairs_vs_row_by_row", bench::median(gain));
  made.add("cocommit_vs_plain_effect", bench::median(to_plain));
  made.add("cocommit_vs_pipelined_effect", bench::median(to_pipelined));
  made.print();
  made.write_json(file);
}

void serve() {
  postgres_server server;
  callonce::postgres::migrate(server.socket_url());
  std::string folder;
  for (const char each : server.folder().string())
    folder += each == '/' ? "%2F" : std::string{each};
  std::cout << "postgres://postgres@" << folder << ':' << server.port() << "/postgres\n"
            << std::flush;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string{words[1]} == "server") {
      serve();
    } else if (count == 3 && std::string{words[1]} == "figures") {
      figures(words[2]);
    } else {
      std::cerr << "bench-postgres server | figures FILE\n";
      return 1;
    }
    return 0;
  } catch (const std::exception& wrong) {
    std::cerr << "bench-postgres: " << wrong.what() << '\n';
    return 2;
  }
}
