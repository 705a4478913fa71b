// The charges API as a client meets it: a real process, real HTTP, every test card.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <examples/payments/process.hpp>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// Whether it becomes true within half a minute.
bool soon(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class payments_api : public testing::Test {
 protected:
  payments_api() {
    std::string pattern = (std::filesystem::temp_directory_path() / "payments-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory_ = pattern;
    start("127.0.0.1:0", "0");
  }
  ~payments_api() override {
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  void start(const std::string& listen, const std::string& delay_ms) {
    std::filesystem::remove(log());
    service_ = std::make_unique<payments::process>(command(listen, delay_ms), log());
    const std::string prefix = "http://127.0.0.1:";
    const bool printed = soon([&] {
      std::ifstream in(log());
      std::string line;
      if (!std::getline(in, line) || in.eof() || !line.starts_with(prefix)) return false;
      port_ = std::stoi(line.substr(prefix.size()));
      return true;
    });
    if (!printed) throw std::runtime_error("the service did not print its address");
  }

  std::vector<std::string> command(const std::string& listen, const std::string& delay_ms) const {
    return {PAYMENTS_PROGRAM, "--listen",   listen,   "--ledger",
            ledger(),         "--delay-ms", delay_ms, "--supervised"};
  }
  std::string ledger() const { return directory_ / "ledger.db"; }
  std::string log() const { return directory_ / "log"; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  httplib::Result post(const std::string& path, const std::string& body,
                       const std::string& account = "ann", std::chrono::milliseconds wait = 10s) {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(wait);
    return client.Post(path, {{"X-Api-Key", account}}, body, "application/json");
  }
  httplib::Result charge(const std::string& source, const std::string& description = "tea",
                         std::chrono::milliseconds wait = 10s) {
    return post("/v1/charges", charge_body(source, description), "ann", wait);
  }
  static std::string charge_body(const std::string& source, const std::string& description) {
    return json::serialize(json::object{
        {"amount", 500}, {"currency", "eur"}, {"source", source}, {"description", description}});
  }
  json::value get(const std::string& path, const std::string& account = "ann") {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(30s);
    auto result = client.Get(path, {{"X-Api-Key", account}});
    if (!result) throw std::runtime_error(path + ": " + httplib::to_string(result.error()));
    return json::parse(result->body);
  }
  std::int64_t bookings() { return get("/ledger").at("bookings").as_int64(); }
  std::int64_t in_flight() { return get("/ledger").at("in_flight").as_int64(); }

  std::filesystem::path directory_;
  std::unique_ptr<payments::process> service_;
  int port_ = 0;
};

std::string code_of(const httplib::Result& result) {
  return std::string(json::parse(result->body).at("error").at("code").as_string());
}

TEST_F(payments_api, the_same_charge_sent_twice_is_booked_twice) {
  const auto first = charge("tok_visa");
  const auto second = charge("tok_visa");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(second->status, 201);
  EXPECT_NE(first->get_header_value("Location"), second->get_header_value("Location"));
  EXPECT_NE(first->get_header_value("Request-Id"), second->get_header_value("Request-Id"));
  EXPECT_EQ(bookings(), 2);
  EXPECT_EQ(get("/ledger").at("sum").as_int64(), 1000);
}

TEST_F(payments_api, an_idempotency_key_changes_nothing) {
  httplib::Client client("127.0.0.1", port_);
  for (int i = 0; i < 2; ++i) {
    const auto sent = client.Post("/v1/charges", {{"X-Api-Key", "ann"}, {"Idempotency-Key", "k1"}},
                                  charge_body("tok_visa", "tea"), "application/json");
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->status, 201);
  }
  EXPECT_EQ(bookings(), 2);
}

TEST_F(payments_api, a_charge_is_found_by_its_location_and_only_by_its_account) {
  const auto made = charge("tok_visa", "tea for two");
  ASSERT_TRUE(made);
  const auto location = made->get_header_value("Location");
  EXPECT_EQ(get(location), json::parse(made->body));
  EXPECT_EQ(get("/v1/charges").at("data").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/charges", "bob").at("data").as_array().size(), 0U);
  EXPECT_EQ(get(location, "bob").at("error").at("code").as_string(), "charge_unknown");
}

TEST_F(payments_api, captures_and_refunds_are_booked_each_time_until_nothing_is_left) {
  const auto made =
      post("/v1/charges", R"({"amount":500,"currency":"eur","source":"tok_visa","capture":false})");
  ASSERT_TRUE(made);
  const auto capture = made->get_header_value("Location") + "/capture";
  EXPECT_EQ(post(capture, R"({"amount":200})")->status, 200);
  EXPECT_EQ(post(capture, R"({"amount":200})")->status, 200);
  EXPECT_EQ(post(capture, R"({"amount":200})")->status, 400);
  EXPECT_EQ(post(capture, "")->status, 200);
  EXPECT_EQ(post(capture, "")->status, 400);
  EXPECT_EQ(post("/v1/refunds", R"({"charge":"ch_1","amount":300})")->status, 201);
  EXPECT_EQ(post("/v1/refunds", R"({"charge":"ch_1","amount":300})")->status, 400);
  EXPECT_EQ(post("/v1/refunds", R"({"charge":"ch_1"})", "bob")->status, 404);
  EXPECT_EQ(get("/ledger").at("sum").as_int64(), 200);
  EXPECT_EQ(bookings(), 5);
}

TEST_F(payments_api, bad_requests_are_named_and_book_nothing) {
  const auto refused = [&](const std::string& body) { return code_of(post("/v1/charges", body)); };
  EXPECT_EQ(refused("{"), "json_invalid");
  EXPECT_EQ(refused("[]"), "json_invalid");
  EXPECT_EQ(refused("{}"), "amount_missing");
  EXPECT_EQ(refused(R"({"amount":-1})"), "amount_invalid");
  EXPECT_EQ(refused(R"({"amount":1.5})"), "amount_invalid");
  EXPECT_EQ(refused(R"({"amount":1,"currency":"euro"})"), "currency_invalid");
  EXPECT_EQ(refused(R"({"amount":1,"currency":"eur","source":"x"})"), "source_unknown");
  EXPECT_EQ(post("/v1/charges", "{", "")->status, 401);
  EXPECT_EQ(post("/v1/refunds", R"({"charge":"ch_x"})")->status, 404);
  EXPECT_EQ(bookings(), 0);
}

TEST_F(payments_api, a_declined_card_pays_nothing) {
  const auto declined = charge("tok_declined");
  ASSERT_TRUE(declined);
  EXPECT_EQ(declined->status, 402);
  EXPECT_EQ(code_of(declined), "card_declined");
  EXPECT_EQ(bookings(), 0);
}

TEST_F(payments_api, tok_503_once_fails_the_first_time_for_each_description) {
  EXPECT_EQ(charge("tok_503_once", "one")->status, 503);
  EXPECT_EQ(charge("tok_503_once", "two")->status, 503);
  EXPECT_EQ(bookings(), 0);
  EXPECT_EQ(charge("tok_503_once", "one")->status, 201);
  EXPECT_EQ(bookings(), 1);
}

TEST_F(payments_api, tok_cut_books_and_breaks_the_connection) {
  EXPECT_FALSE(charge("tok_cut"));
  EXPECT_FALSE(charge("tok_cut"));
  EXPECT_EQ(bookings(), 2);
  EXPECT_FALSE(charge("tok_cut_once"));
  EXPECT_EQ(charge("tok_cut_once")->status, 201);
  EXPECT_EQ(bookings(), 4);
}

TEST_F(payments_api, tok_refund_cut_books_the_refund_and_breaks_the_connection) {
  EXPECT_EQ(charge("tok_refund_cut")->status, 201);
  EXPECT_FALSE(post("/v1/refunds", R"({"charge":"ch_1","amount":100})"));
  EXPECT_EQ(get("/ledger").at("sum").as_int64(), 400);
}

TEST_F(payments_api, tok_hang_books_and_never_answers) {
  auto hanging = std::async(std::launch::async, [&] { return charge("tok_hang", "hangs"); });
  EXPECT_TRUE(soon([&] { return bookings() == 1; }));
  EXPECT_EQ(charge("tok_visa", "a later one")->status, 201);
  EXPECT_EQ(in_flight(), 1);
  service_->kill();
  EXPECT_FALSE(hanging.get());
}

TEST_F(payments_api, tok_slow_books_nothing_for_a_caller_that_hung_up_before) {
  EXPECT_FALSE(charge("tok_slow", "tea", 200ms));
  EXPECT_TRUE(soon([&] { return in_flight() == 0; }));
  EXPECT_EQ(bookings(), 0);
}

TEST_F(payments_api, tok_crash_ends_the_process_after_the_booking) {
  EXPECT_FALSE(charge("tok_crash"));
  EXPECT_EQ(service_->wait(10s), 70);
  start(address(), "0");
  EXPECT_EQ(bookings(), 1);
}

TEST_F(payments_api, a_busy_port_is_an_error) {
  payments::process second(command(address(), "0"), directory_ / "second");
  EXPECT_EQ(second.wait(10s), 1);
}

TEST_F(payments_api, sigterm_lets_a_running_charge_finish_and_cuts_a_hanging_one) {
  start("127.0.0.1:0", "300");
  auto hanging = std::async(std::launch::async, [&] { return charge("tok_hang", "hangs", 20s); });
  EXPECT_TRUE(soon([&] { return bookings() == 1; }));
  auto running = std::async(std::launch::async, [&] { return charge("tok_visa", "runs"); });
  EXPECT_TRUE(soon([&] { return in_flight() == 2; }));
  EXPECT_EQ(service_->stop(20s), 0);
  EXPECT_FALSE(hanging.get());
  EXPECT_EQ(running.get()->status, 201);
}

TEST_F(payments_api, fifty_at_once_are_all_served_at_the_same_time) {
  start("127.0.0.1:0", "300");
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::future<httplib::Result>> clients(50);
  for (auto& client : clients)
    client = std::async(std::launch::async, [&] { return charge("tok_visa"); });
  for (auto& client : clients) EXPECT_EQ(client.get()->status, 201);
  EXPECT_EQ(bookings(), 50);
  // One after another they would take fifteen seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

}  // namespace
