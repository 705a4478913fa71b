#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <examples/payments/api.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace payments {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// A request that is answered with an error.
struct refusal {
  int status;
  std::string_view type;
  std::string_view code;
  std::string_view message;
};

void answer(httplib::Response& out, int status, const json::value& body) {
  out.status = status;
  out.set_content(json::serialize(body) + "\n", "application/json");
}

void answer(httplib::Response& out, const refusal& why) {
  answer(out, why.status,
         {{"error", {{"type", why.type}, {"code", why.code}, {"message", why.message}}}});
}

refusal bad_request(std::string_view code, std::string_view message) {
  return {400, "invalid_request_error", code, message};
}

/// The account that asks. Errors: refusal.
std::string account_of(const httplib::Request& in) {
  auto account = in.get_header_value("X-Api-Key");
  if (account.empty())
    throw refusal{401, "authentication_error", "api_key_missing", "Send your key as X-Api-Key."};
  return account;
}

/// The request's JSON object. Errors: refusal.
json::object object_of(const httplib::Request& in) {
  boost::system::error_code fault;
  auto value = json::parse(in.body, fault);
  if (fault) throw bad_request("json_invalid", "The body is not JSON.");
  if (!value.is_object()) throw bad_request("json_invalid", "The body is not a JSON object.");
  return std::move(value.get_object());
}

std::string text_of(const json::object& body, std::string_view name) {
  const auto* value = body.if_contains(name);
  if (value == nullptr) return {};
  if (!value->is_string()) throw bad_request("parameter_invalid", "A parameter is not a string.");
  return std::string(value->get_string());
}

std::optional<std::int64_t> amount_of(const json::object& body) {
  const auto* value = body.if_contains("amount");
  if (value == nullptr) return std::nullopt;
  if (!value->is_int64() || value->get_int64() <= 0)
    throw bad_request("amount_invalid", "amount is a positive whole number of minor units.");
  return value->get_int64();
}

json::object render(const charge& charge) {
  return {{"id", "ch_" + std::to_string(charge.id)},
          {"object", "charge"},
          {"amount", charge.amount},
          {"amount_captured", charge.captured},
          {"amount_refunded", charge.refunded},
          {"currency", charge.currency},
          {"description", charge.description},
          {"source", charge.source},
          {"status", charge.captured > 0 ? "succeeded" : "authorised"},
          {"created", charge.created}};
}

std::string fresh_request_id() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::ostringstream text;
  text << "req_" << std::hex << random();
  return text.str();
}

charge draft_of(const httplib::Request& in) {
  charge draft;
  draft.account = account_of(in);
  const auto body = object_of(in);
  const auto amount = amount_of(body);
  if (!amount) throw bad_request("amount_missing", "amount is required.");
  draft.amount = *amount;
  draft.currency = text_of(body, "currency");
  draft.source = text_of(body, "source");
  draft.description = text_of(body, "description");
  if (draft.currency.size() != 3)
    throw bad_request("currency_invalid", "currency is a three-letter code.");
  if (find_card(draft.source) == nullptr)
    throw bad_request("source_unknown", "source is none of the test cards.");
  const auto* capture = body.if_contains("capture");
  const bool authorise_only = capture != nullptr && *capture == json::value(false);
  draft.captured = authorise_only ? 0 : draft.amount;
  return draft;
}

charge found(std::optional<charge> charge) {
  if (!charge) throw refusal{404, "invalid_request_error", "charge_unknown", "No such charge."};
  return *std::move(charge);
}

/// Counts a request for as long as it lives.
class counted {
 public:
  explicit counted(std::atomic<int>& counter) : counter_(counter) { ++counter_; }
  ~counted() { --counter_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

 private:
  std::atomic<int>& counter_;
};

}  // namespace

api::api(ledger& ledger, settings settings) : ledger_(ledger), settings_(settings) {
  const auto handled_by = [this](void (api::*handler)(const request&, response&)) {
    return [this, handler](const request& in, response& out) {
      try {
        (this->*handler)(in, out);
      } catch (const refusal& why) {
        answer(out, why);
      } catch (const std::exception& fault) {
        std::cerr << "payments: " << fault.what() << "\n";
        answer(out, {500, "api_error", "internal", "The charge service failed."});
      }
    };
  };
  server_.Post("/v1/charges", handled_by(&api::create_charge));
  server_.Post(R"(/v1/charges/ch_(\d{1,18})/capture)", handled_by(&api::capture_charge));
  server_.Post("/v1/refunds", handled_by(&api::create_refund));
  server_.Get(R"(/v1/charges/ch_(\d{1,18}))", handled_by(&api::show_charge));
  server_.Get("/v1/charges", handled_by(&api::list_charges));
  server_.Get("/ledger", handled_by(&api::show_ledger));
  server_.set_post_routing_handler(
      [](const request&, response& out) { out.set_header("Request-Id", fresh_request_id()); });
  server_.set_error_handler([](const request&, response& out) {
    if (out.body.empty())
      answer(out, {out.status, "invalid_request_error", "not_found", "There is nothing here."});
  });

  // One thread a connection: slow charges and idle kept-alive connections each hold one.
  server_.new_task_queue = [] { return new httplib::ThreadPool(128); };
  server_.set_keep_alive_max_count(1'000'000);
  server_.set_tcp_nodelay(true);
  // cpp-httplib's own choice, SO_REUSEPORT, would let a second process share a busy port unnoticed.
  server_.set_socket_options([this](int socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    listening_socket_ = socket;
  });
}

int api::bind(const std::string& host, int port) {
  const bool bound =
      port == 0 ? (port = server_.bind_to_any_port(host)) > 0 : server_.bind_to_port(host, port);
  if (!bound)
    throw std::runtime_error("cannot listen on " + host + ":" + std::to_string(port) +
                             ": is another program there?");
  // cpp-httplib queues five connections; fifty that come at once would wait for a second SYN.
  ::listen(listening_socket_, SOMAXCONN);
  return port;
}

void api::run() {
  server_.listen_after_bind();
}

void api::stop() {
  stopping_ = true;
  while (!server_.is_running()) std::this_thread::sleep_for(1ms);  // it would ignore the stop
  server_.stop();
}

bool api::authorise(const connection& caller, std::chrono::milliseconds delay, behaviour bank,
                    response& out) const {
  if (bank == behaviour::unavailable) {
    answer(out, {503, "api_error", "bank_unavailable", "The bank cannot be reached. Try again."});
    return false;
  }
  if (!caller.wait(delay)) {
    answer(out, {499, "api_error", "caller_gone", "The caller hung up before money moved."});
    return false;
  }
  if (bank == behaviour::declines) {
    answer(out, {402, "card_error", "card_declined", "The card was declined."});
    return false;
  }
  return true;
}

void api::conclude(const connection& caller, behaviour bank) const {
  if (bank == behaviour::crashes) ::_exit(70);
  if (bank == behaviour::hangs)
    while (!stopping_ && caller.wait(100ms)) continue;
  if (bank == behaviour::hangs || bank == behaviour::cuts) caller.cut();
}

void api::create_charge(const request& in, response& out) {
  const counted here(in_flight_);
  const auto draft = draft_of(in);
  const auto& card = *find_card(draft.source);
  if (card.on_charge == behaviour::crashes && !settings_.supervised)
    throw bad_request("source_unknown", "tok_crash needs a service started with --supervised.");
  const auto operation =
      draft.account + "\n" + std::to_string(draft.amount) + "\n" + draft.description;
  const auto bank = bank_.decide(card, card.on_charge, operation);
  const connection caller(in);
  if (!authorise(caller, settings_.delay + card.extra_delay, bank, out)) return;
  const auto charge = ledger_.add(draft);
  out.set_header("Location", "/v1/charges/ch_" + std::to_string(charge.id));
  answer(out, 201, render(charge));
  conclude(caller, bank);
}

void api::capture_charge(const request& in, response& out) {
  const counted here(in_flight_);
  const auto account = account_of(in);
  const auto body = in.body.empty() ? json::object{} : object_of(in);
  const auto charge = found(ledger_.find(account, std::stoll(in.matches[1])));
  const auto amount = amount_of(body).value_or(charge.amount - charge.captured);
  const connection caller(in);
  if (!authorise(caller, settings_.delay, behaviour::pays, out)) return;
  if (amount == 0 || !ledger_.capture(charge, amount))
    throw bad_request("amount_too_large", "Less than that is left to capture.");
  answer(out, 200, render(found(ledger_.find(account, charge.id))));
}

void api::create_refund(const request& in, response& out) {
  const counted here(in_flight_);
  const auto account = account_of(in);
  const auto body = object_of(in);
  const auto of = text_of(body, "charge");
  const bool named = of.starts_with("ch_") && of.size() > 3 && of.size() <= 21 &&
                     of.find_first_not_of("0123456789", 3) == std::string::npos;
  const auto charge = found(named ? ledger_.find(account, std::stoll(of.substr(3))) : std::nullopt);
  const auto amount = amount_of(body).value_or(charge.captured - charge.refunded);
  const auto bank = find_card(charge.source)->on_refund;
  const connection caller(in);
  if (!authorise(caller, settings_.delay, bank, out)) return;
  const auto id = amount == 0 ? std::nullopt : ledger_.refund(charge, amount);
  if (!id) throw bad_request("amount_too_large", "Less than that is left to refund.");
  answer(out, 201,
         {{"id", "re_" + std::to_string(*id)},
          {"object", "refund"},
          {"charge", of},
          {"amount", amount},
          {"currency", charge.currency},
          {"status", "succeeded"}});
  conclude(caller, bank);
}

void api::show_charge(const request& in, response& out) {
  answer(out, 200, render(found(ledger_.find(account_of(in), std::stoll(in.matches[1])))));
}

void api::list_charges(const request& in, response& out) {
  json::array data;
  for (const auto& charge : ledger_.latest(account_of(in), 100)) data.push_back(render(charge));
  answer(out, 200, {{"object", "list"}, {"data", std::move(data)}});
}

void api::show_ledger(const request&, response& out) {
  std::int64_t bookings = 0;
  std::int64_t sum = 0;
  json::object accounts;
  for (const auto& balance : ledger_.balances()) {
    bookings += balance.bookings;
    sum += balance.sum;
    accounts[balance.account] = {{"bookings", balance.bookings}, {"sum", balance.sum}};
  }
  answer(out, 200,
         {{"bookings", bookings},
          {"sum", sum},
          {"in_flight", in_flight_.load()},
          {"accounts", std::move(accounts)}});
}

}  // namespace payments
