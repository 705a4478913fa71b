#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <tests/fault/shop.hpp>

#include <callonce/stores/postgres/migrate.hpp>

namespace callonce::fault {
namespace {

constexpr std::chrono::seconds patience{30};

std::string new_database() {
  tests::postgres_server& server = tests::postgres_server::shared();
  static std::string prototype;
  if (prototype.empty()) {
    prototype = server.new_database();
    postgres::migrate(server.url(prototype));
    tests::postgres_client{server.url(prototype)}.ask(
        "create table orders (id bigint generated always as identity, key text, note text)");
  }
  return server.new_database(prototype);
}

}  // namespace

shop_application::shop_application(const std::string& url) : process_({SHOP_APP, url}) {
  const std::string said = process_.read_line();
  port_ = static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':') + 1)));
}

void shop_application::kill_child() {
  process_.signal(SIGUSR1);
}

shop::shop(const std::string& application_url) : database_(new_database()) {
  start_application(application_url.empty() ? url() : application_url);
}

void shop::start_application(const std::string& at) {
  application_.reset();
  application_ = std::make_unique<shop_application>(at);
}

std::unique_ptr<cli::test::served> shop::gateway(const gateway_options& with) {
  const std::string name = "gateway-" + std::to_string(++gateways_) + ".toml";
  const std::string upstream = with.upstream.empty()
                                   ? "http://127.0.0.1:" + std::to_string(application_->port())
                                   : with.upstream;
  const std::string file = folder_.file(
      name.c_str(), "upstream = \"" + upstream +
                        "\"\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[store]\nurl = \"" +
                        (with.store.empty() ? url() : with.store) +
                        "\"\ntimeout = \"2s\"\n[scope]\nfrom = \"header:X-Api-Key\"\n[limits]\n" +
                        with.limits +
                        // Nobody reads the log of a gateway under a storm, and a pipe has an end.
                        "[log]\naccess = false\n"
                        "[defaults]\nclass = \"atomic\"\nkey = \"required\"\nlease = \"3s\"\n"
                        "timeout = \"2s\"\n" +
                        with.defaults);
  if (!with.fault.empty()) ::setenv("CALLONCE_FAULT", with.fault.c_str(), 1);
  auto made = std::make_unique<cli::test::served>(std::vector<std::string>{"--config", file});
  ::unsetenv("CALLONCE_FAULT");
  return made;
}

std::size_t shop::orders(const std::string& key) {
  return tests::postgres_client{url()}
      .ask("select id from orders where key = '" + key + "'")
      .size();
}

std::size_t shop::orders() {
  return tests::postgres_client{url()}.ask("select id from orders").size();
}

void shop::let_leases_lapse() {
  tests::postgres_client{url()}.ask(
      "update callonce.record set lease_until_ms = 0 where id in "
      "(select id from callonce.record for update skip locked)");
}

reply post(const cli::test::served& to, const std::string& key, const std::string& does,
           const std::string& body) {
  cli::test::lines lines{"X-Api-Key: tenant", "Idempotency-Key: " + key};
  if (!does.empty()) lines.push_back("X-Do: " + does);
  return cli::test::ask(to.port(), "POST", "/orders", lines, body);
}

reply settle(const cli::test::served& to, const std::string& key, const std::string& body) {
  const auto end = std::chrono::steady_clock::now() + patience;
  reply last = post(to, key, {}, body);
  while (last.status != 201 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
    last = post(to, key, {}, body);
  }
  return last;
}

void expect_one_order(shop& in, const cli::test::served& at, const std::string& key) {
  const reply settled = settle(at, key);
  EXPECT_EQ(settled.status, 201) << settled.head << settled.body;
  const reply again = post(at, key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, settled.body);
  EXPECT_TRUE(is_marked(again));
  EXPECT_EQ(in.orders(key), 1u);
  EXPECT_EQ(post(at, key, {}, "another body").status, 422);
}

bool is_marked(const reply& of) {
  return of.has("Idempotent-Replayed: true");
}

bool has_code(const reply& of, const std::string& code) {
  return of.body.find("\"code\":\"" + code + "\"") != std::string::npos;
}

}  // namespace callonce::fault
