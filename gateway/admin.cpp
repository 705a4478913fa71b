#include <chrono>

#include <gateway/admin.hpp>

#include <callonce/core/policy.hpp>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

// Probes by several watchers cost one claim a second.
constexpr std::chrono::seconds remembered = 1s;
// A probe whose process died is gone after a minute.
constexpr std::chrono::minutes probe_retention{1};

response json(int status, std::string body) {
  response made{status, "application/json", std::move(body) + "\n"};
  made.header("Cache-Control", "no-store");
  return made;
}

std::string_view word(bool truth) {
  return truth ? "true" : "false";
}

}  // namespace

readiness::readiness(store& over, environment& in) : store_(over), env_(in) {
  // A key of this process alone: another one's probe says nothing about this one's store.
  wish_.id = identity{hasher{}.part("callonce readiness").finish(), key{to_hex(new_claim_id(in))}};
  wish_.terms.lease = policy::lease_min;
  wish_.terms.retention = probe_retention;
  wish_.terms.key_retention = probe_retention;
  wish_.terms.route = "(readiness)";
}

asio::awaitable<bool> readiness::check() {
  if (env_.now() < good_until_) co_return last_;
  const bool ready = co_await probe();
  last_ = ready;
  good_until_ = env_.now() + remembered;
  co_return ready;
}

asio::awaitable<bool> readiness::probe() {
  claim_request wish = wish_;
  wish.claim_id = new_claim_id(env_);
  const result<claim_reply> claimed = co_await store_.claim(wish);
  if (!claimed) co_return false;
  // Another probe of this process is under way: its claim was durable a moment ago.
  if (claimed->verdict != claim_verdict::claimed) co_return true;
  const fence by{wish.id, wish.claim_id, claimed->current.attempt};
  const result<write_reply> released = co_await store_.release(by, probe_retention);
  co_return released.has_value();
}

admin::admin(store& over, metrics& counts, environment& in, std::string version)
    : store_(over), counts_(counts), readiness_(over, in), version_(std::move(version)) {}

asio::awaitable<void> admin::answer(beast::exchange& client) {
  const std::string target = client.head().target();
  const std::string method = client.head().method();
  callonce::answer made = co_await respond(method, target.substr(0, target.find('?')));
  // A watcher that is gone asks again.
  static_cast<void>(co_await client.send(std::move(made)));
}

asio::awaitable<response> admin::respond(std::string method, std::string path) {
  if (method != "GET" && method != "HEAD") {
    co_return json(405, R"({"error":"this address is read-only"})").header("Allow", "GET, HEAD");
  }
  if (path == "/healthz") co_return health();
  if (path == "/readyz") co_return co_await ready();
  if (path == "/metrics") {
    co_return response{200, "text/plain; version=0.0.4; charset=utf-8", counts_.text()};
  }
  co_return json(404, R"({"error":"there are /healthz, /readyz and /metrics"})");
}

// C85: a store that lives in this process says so.
response admin::health() const {
  const store_traits is = store_.traits();
  std::string body = R"({"status":"ok","version":")" + version_ + R"(","store":")" + is.name;
  body.append(R"(","durable":)").append(word(is.durable));
  body.append(R"(,"shared":)").append(word(is.shared)).append("}");
  return json(200, std::move(body));
}

asio::awaitable<response> admin::ready() {
  if (draining_) co_return json(503, R"({"ready":false,"why":"draining"})");
  const bool durable = co_await readiness_.check();
  if (!durable) co_return json(503, R"({"ready":false,"why":"the store takes no claim"})");
  co_return json(200, R"({"ready":true})");
}

}  // namespace callonce::gateway
