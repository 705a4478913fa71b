#pragma once

// What the tests over PostgreSQL share: a database, the application in front of it, gateways.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <cli/test_support.hpp>
#include <tests/exam/child_process.hpp>
#include <tests/support/postgres_server.hpp>

namespace callonce::fault {

using namespace std::chrono_literals;
using cli::test::reply;

/// The application: see shop_app.cpp.
class shop_application {
 public:
  explicit shop_application(const std::string& url);
  std::uint16_t port() const { return port_; }
  /// kill -9 of the child that serves; another one takes its place.
  void kill_child();

 private:
  exam::child_process process_;
  std::uint16_t port_ = 0;
};

/// How a gateway is started.
struct gateway_options {
  std::string store;     ///< A connection string; empty: straight to the server.
  std::string fault;     ///< CALLONCE_FAULT.
  std::string upstream;  ///< Empty: the application.
  std::string defaults;  ///< More lines for [defaults].
  std::string limits;    ///< Lines for [limits].
};

/// A database with the tables and `orders`, and an application that works in it.
class shop {
 public:
  /// `application_url`: where the application's own connection goes; empty: straight to the server.
  explicit shop(const std::string& application_url = {});

  tests::postgres_server& server() { return tests::postgres_server::shared(); }
  const std::string& database() const { return database_; }
  std::string url() { return server().url(database_); }
  shop_application& application() { return *application_; }
  void start_application(const std::string& url);
  std::unique_ptr<cli::test::served> gateway(const gateway_options& with = {});

  /// How many orders a key has made.
  std::size_t orders(const std::string& key);
  std::size_t orders();
  /// Makes leases lapse, for rows that nobody holds.
  void let_leases_lapse();

 private:
  const std::string database_;
  cli::test::scratch folder_;
  std::unique_ptr<shop_application> application_;
  int gateways_ = 0;
};

/// POST /orders under `key`; `does` is for the application.
reply post(const cli::test::served& to, const std::string& key, const std::string& does = {},
           const std::string& body = "two books");
/// Again until it is answered 201, as a patient client does.
reply settle(const cli::test::served& to, const std::string& key,
             const std::string& body = "two books");
/// The end of every story: settled with one order, one answer, and another payload refused.
void expect_one_order(shop& in, const cli::test::served& at, const std::string& key);
bool is_marked(const reply& of);
bool has_code(const reply& of, const std::string& code);

}  // namespace callonce::fault
