
#include <boost/json.hpp>
#include <examples/payments/number.hpp>
#include <examples/payments/walk/client.hpp>
#include <httplib.h>

namespace walk {
namespace {

namespace json = boost::json;

void read_problem(const std::string& body, reply& into) {
  boost::system::error_code fault;
  const auto value = json::parse(body, fault);
  if (fault || !value.is_object()) return;
  const auto* code = value.get_object().if_contains("code");
  if (code != nullptr && code->is_string()) into.code = std::string(code->get_string());
  const auto* retryable = value.get_object().if_contains("retryable");
  into.retryable = retryable != nullptr && *retryable == json::value(true);
}

}  // namespace

bool reply::repeats(const reply& other) const {
  return status == other.status && body == other.body && content_type == other.content_type &&
         location == other.location && request_id == other.request_id;
}

std::string reply::text() const {
  if (status == 0) return fault;
  auto text = std::to_string(status);
  constexpr std::string_view prefix = "idempotency_";
  if (!code.empty()) text += " " + code.substr(code.starts_with(prefix) ? prefix.size() : 0);
  return replayed ? text + " replayed" : text;
}

reply send(int port, const order& order, std::chrono::milliseconds patience) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(patience);
  const auto result = client.Post(order.path,
                                  {{"X-Api-Key", order.account},
                                   {"Idempotency-Key", order.key},
                                   {"Accept-Encoding", "identity"}},
                                  order.body, "application/json");
  reply reply;
  if (!result) {
    const bool refused = result.error() == httplib::Error::Connection;
    reply.fault = refused ? "not connected" : "no answer";
    return reply;
  }
  reply.status = result->status;
  reply.body = result->body;
  reply.content_type = result->get_header_value("Content-Type");
  reply.location = result->get_header_value("Location");
  reply.request_id = result->get_header_value("Request-Id");
  reply.replayed = result->get_header_value("Idempotent-Replayed") == "true";
  const auto retry_after = payments::number(result->get_header_value("Retry-After"), 3600);
  reply.retry_after = std::chrono::seconds(retry_after.value_or(0));
  if (reply.content_type.starts_with("application/problem+json")) read_problem(reply.body, reply);
  return reply;
}

std::optional<std::string> get(int port, const std::string& path) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(std::chrono::seconds(5));
  const auto result = client.Get(path, {{"Accept-Encoding", "identity"}});
  if (!result || result->status != 200) return std::nullopt;
  return result->body;
}

}  // namespace walk
