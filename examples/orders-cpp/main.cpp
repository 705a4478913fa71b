// An order service whose order and whose Idempotency-Key are committed in one PostgreSQL
// transaction, in process: no gateway, cpp-httplib, libpq.
//
//   orders-cpp URL [PORT]      URL as for psql: postgres://me@localhost/shop
//   curl -d 'two books' -H 'X-Account: anna' -H 'Idempotency-Key: first' localhost:8080/v1/orders
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>
#include <libpq-fe.h>

#include <callonce/engine/blocking.hpp>
#include <callonce/engine/engine.hpp>
#include <callonce/stores/postgres/co_commit.hpp>
#include <callonce/stores/postgres/migrate.hpp>
#include <callonce/stores/postgres/store.hpp>

using connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using result = std::unique_ptr<PGresult, decltype(&PQclear)>;

// Statements without parameters. Post: whether the server did what was asked: a COMMIT of a
// transaction that had failed answers ROLLBACK.
bool exec(PGconn* in, const std::string& sql) {
  const result said{PQexec(in, sql.c_str()), &PQclear};
  return PQresultStatus(said.get()) == PGRES_COMMAND_OK &&
         std::string_view{PQcmdStatus(said.get())} != "ROLLBACK";
}

std::string insert_order(PGconn* in, const std::string& account, const std::string& note) {
  const char* values[] = {account.c_str(), note.c_str()};
  const result said{PQexecParams(in,
                                 "insert into orders (account, note) values ($1, $2) "
                                 "returning id",
                                 2, nullptr, values, nullptr, nullptr, 0),
                    &PQclear};
  if (PQresultStatus(said.get()) != PGRES_TUPLES_OK) throw std::runtime_error{"no order made"};
  return PQgetvalue(said.get(), 0, 0);
}

// A few connections for many requests.
class pool {
 public:
  pool(std::string url, std::size_t size) : url_(std::move(url)), free_(size) {}

  // A connection until the end of the request; what is left open in it is rolled back.
  class lease {
   public:
    explicit lease(pool& from) : from_(from), over_(from.take()) {}
    ~lease() { from_.give_back(std::move(over_)); }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    PGconn* get() const { return over_.get(); }

   private:
    pool& from_;
    connection over_;
  };

 private:
  connection take() {
    std::unique_lock held{mutex_};
    returned_.wait(held, [&] { return free_ > 0; });
    --free_;
    while (!idle_.empty()) {
      connection one = std::move(idle_.back());
      idle_.pop_back();
      if (PQstatus(one.get()) == CONNECTION_OK) return one;
    }
    held.unlock();
    return {PQconnectdb(url_.c_str()), &PQfinish};
  }

  void give_back(connection one) {
    if (PQtransactionStatus(one.get()) != PQTRANS_IDLE) exec(one.get(), "rollback");
    const std::lock_guard held{mutex_};
    if (PQstatus(one.get()) == CONNECTION_OK) idle_.push_back(std::move(one));
    ++free_;
    returned_.notify_one();
  }

  const std::string url_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t free_;
  std::vector<connection> idle_;
};

callonce::outcome order(pool& connections, callonce::claim& claim,
                        const callonce::request& request) {
  if (request.body_text().empty()) {
    return callonce::response{422, "text/plain", std::string{"an order has a note\n"}};
  }
  const pool::lease lent{connections};
  PGconn* in = lent.get();
  if (!exec(in, "begin")) return callonce::not_executed{};

  callonce::postgres::hold(in, claim).value();  // First: a lost claim stops here.
  const std::string id =
      insert_order(in, *request.headers().find("X-Account"), std::string{request.body_text()});
  callonce::response answer{201, "application/json", "{\"id\":" + id + "}\n"};
  answer.header("Location", "/v1/orders/" + id);
  callonce::postgres::complete(in, claim, answer).value();  // Last: order and key, or neither.

  if (!exec(in, "commit")) return callonce::indeterminate{};  // The engine asks the record.
  return callonce::committed{answer};
}

callonce::header_list headers_of(const httplib::Request& in) {
  callonce::header_list made;
  for (const auto& [name, value] : in.headers) made.add(name, value);
  return made;
}

void give(const callonce::response& answer, httplib::Response& out) {
  out.status = answer.status();
  std::string type = "application/octet-stream";
  for (const callonce::field& line : answer.headers()) {
    if (callonce::same_name(line.name, "Content-Type")) {
      type = line.value;
    } else {
      out.headers.emplace(line.name, line.value);
    }
  }
  if (!answer.content().empty()) out.set_content(std::string{answer.body_text()}, type);
}

int serve(const std::string& url, int port) {
  callonce::postgres::migrate(url);
  pool connections{url, 4};
  callonce::postgres::store store{url};
  callonce::engine engine{store};
  callonce::blocking::route orders{engine,
                                   callonce::policy{}
                                       .scope(callonce::scope_from_header("X-Account"))
                                       .key(callonce::key_demand::required)
                                       .lease(std::chrono::seconds{10})
                                       .timeout(std::chrono::seconds{9}),
                                   [&](callonce::claim& claim, const callonce::request& request) {
                                     return order(connections, claim, request);
                                   }};

  httplib::Server server;
  // A thread is busy for as long as its client keeps the connection.
  server.new_task_queue = [] { return new httplib::ThreadPool{64}; };
  server.Post("/v1/orders", [&](const httplib::Request& in, httplib::Response& out) {
    give(orders(callonce::request{"POST", in.target, headers_of(in), in.body}), out);
  });
  const int bound = port == 0 ? server.bind_to_any_port("127.0.0.1") : port;
  if (port != 0 && !server.bind_to_port("127.0.0.1", port)) {
    throw std::runtime_error{"the port is taken"};
  }
  std::cout << "listening on 127.0.0.1:" << bound << std::endl;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  std::thread waits{[&] {
    int which = 0;
    sigwait(&stop, &which);
    server.stop();
  }};
  server.listen_after_bind();
  waits.join();
  return 0;
}

int main(int count, char** arguments) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  try {
    if (count < 2) throw std::runtime_error{"orders-cpp URL [PORT]"};
    return serve(arguments[1], count > 2 ? std::stoi(arguments[2]) : 8080);
  } catch (const std::exception& wrong) {
    std::cerr << "orders-cpp: " << wrong.what() << '\n';
    return 1;
  }
}
