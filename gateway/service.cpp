#include <algorithm>
#include <variant>

#include <gateway/forward.hpp>
#include <gateway/pass_through.hpp>
#include <gateway/service.hpp>
#include <gateway/upstream_pool.hpp>

namespace callonce::gateway {
namespace {

// A path longer than this tells a reader of the log nothing more.
constexpr std::size_t logged_path_max = 256;

upstream_limits limits_of(const configuration& of) {
  upstream_limits made;
  made.connect_timeout = of.limits.connect_timeout;
  made.connections = of.limits.upstream_connections;
  made.idle_max = of.limits.upstream_idle_max;
  return made;
}

std::string logged_path(std::string_view target) {
  return std::string{target.substr(0, std::min(target.find('?'), logged_path_max))};
}

}  // namespace

struct service::served_route {
  served_route(engine& over, const policy& by, const std::shared_ptr<upstream>& to,
               const std::string& auth_check)
      : application(to),
        guarded(over, by, make_forward(to, by), make_replay_check(to, by, auth_check)) {}

  const std::string& name() const { return guarded.policy().settings().name; }

  const std::shared_ptr<upstream> application;
  mutable route guarded;
};

/// What is known of who asks, from the head of his request.
struct service::asker {
  asker(std::string id, std::string page) : request_id(std::move(id)), origin(std::move(page)) {}
  std::string request_id;
  std::string origin;  ///< A page of `cors_origins`, or empty.
};

/// How one exchange has ended.
struct service::ending {
  ending() = default;
  ending(int with, request_outcome by) : status(with), how(by) {}
  int status = 0;  ///< 0: the client did not get the whole answer.
  request_outcome how;
  std::string record;
};

service::service(std::shared_ptr<const configuration> of, engine& over,
                 asio::any_io_executor executor, const log& lines, metrics& counts, observer& facts,
                 environment& in)
    : config_(std::move(of)),
      cors_(config_->cors_origins),
      engine_(over),
      executor_(std::move(executor)),
      log_(lines),
      counts_(counts),
      facts_(facts),
      env_(in),
      ids_(in) {
  for (std::size_t i = 0; i < config_->routes.size(); ++i) {
    serve_route(config_->routes[i]);
    table_.add(config_->routes[i].path, i);
  }
  serve_route(config_->defaults);
}

service::~service() = default;

void service::close() {
  routes_.clear();
  applications_.clear();
}

void service::serve_route(const route_settings& of) {
  // Only where a route that takes everything has an application of its own is there none.
  const endpoint where = of.upstream ? *of.upstream : config_->upstream.value_or(endpoint{});
  routes_.push_back(std::make_unique<served_route>(engine_, policy{of.policy},
                                                   application_at(where), of.auth_check));
}

std::shared_ptr<upstream> service::application_at(const endpoint& where) {
  std::shared_ptr<upstream>& found = applications_[to_text(where)];
  if (!found) found = std::make_shared<upstream_pool>(executor_, where, limits_of(*config_), env_);
  return found;
}

const service::served_route& service::route_for(std::string_view target) const {
  const std::size_t found = table_.match(target);
  return found == route_table::none ? *routes_.back() : *routes_[found];
}

asio::awaitable<void> service::answer(beast::exchange& client) {
  const steady_time began = env_.now();
  request& head = client.head();
  head.from_trusted_hop(config_->proxies.contains(client.peer()));
  const served_route& by = route_for(head.target());
  const asker from{request_id_of(head, ids_), cors_.origin_of(head)};
  const bool told = log_.writes_access();
  const std::string method = told ? head.method() : std::string{};
  const std::string path = told ? logged_path(head.target()) : std::string{};

  const ending ended = co_await respond(client, by, from);

  const auto took = env_.now() - began;
  counts_.count_request(by.name(), ended.how, took);
  if (!told) co_return;
  log_.write(log_level::info, "request",
             {{"method", method},
              {"path", path},
              {"route", by.name()},
              {"status", ended.status},
              {"outcome", ended.how.name()},
              {"record", ended.record},
              {"ms", std::chrono::duration<double, std::milli>(took).count()},
              {"peer", client.peer()},
              {"request_id", from.request_id}});
}

asio::awaitable<service::ending> service::respond(beast::exchange& client, const served_route& by,
                                                  const asker& from) {
  const request& head = client.head();
  if (auto allowed = cors_.preflight(head, by.guarded.policy().settings())) {
    callonce::answer preflight = *std::move(allowed);
    ending ended = co_await send(client, std::move(preflight), from);
    ended.how.what = request_outcome::kind::unprotected;
    co_return ended;
  }
  auto admitted = by.guarded.admit(head);
  if (auto* as = std::get_if<identity>(&admitted)) {
    co_return co_await protect(client, by, std::move(*as), from);
  }
  if (const auto* why = std::get_if<problem>(&admitted)) {
    callonce::answer refused = by.guarded.refuse(*why, head);
    co_return co_await send(client, std::move(refused), from);
  }
  co_return co_await pass(client, by, from);
}

request_outcome service::unprotected_outcome(const served_route& by, const request& head) const {
  const policy_settings& is = by.guarded.policy().settings();
  const bool takes_key =
      is.key != key_demand::off &&
      std::find(is.methods.begin(), is.methods.end(), head.method()) != is.methods.end();
  return {takes_key ? request_outcome::kind::no_key : request_outcome::kind::unprotected};
}

asio::awaitable<service::ending> service::pass(beast::exchange& client, const served_route& by,
                                               const asker& from) {
  const request_outcome how = unprotected_outcome(by, client.head());
  facts_.on(fact{fact_kind::passed_through, by.name()});
  const answer_marks marks = [&](response& said) {
    cors::open_for(from.origin, said);
    mark_for_client(said, from.request_id);
  };
  const int status = co_await pass_through(client, *by.application, from.request_id,
                                           by.guarded.policy().settings().problems, marks, env_);
  co_return ending{status, how};
}

asio::awaitable<service::ending> service::protect(beast::exchange& client, const served_route& by,
                                                  identity as, const asker& from) {
  auto body = co_await client.read_body(by.guarded.policy().settings().request_body_max);
  ending ended;
  if (std::holds_alternative<beast::disconnected>(body)) {
    ended.how.what = request_outcome::kind::gone;
  } else if (const auto* why = std::get_if<problem>(&body)) {
    callonce::answer refused = by.guarded.refuse(*why, client.head(), &as);
    ended = co_await send(client, std::move(refused), from);
  } else {
    request& head = client.head();
    request asked{head.method(), head.target(), std::move(head.headers()),
                  std::get<body_bytes>(std::move(body))};
    asked.from_trusted_hop(head.from_trusted_hop());
    prepare_for_application(asked, client.peer(), from.request_id);
    const interim_sink tell = [&client](const response& interim) -> asio::awaitable<void> {
      // A client that is gone is told by `client_left`.
      static_cast<void>(co_await client.send_interim(interim));
    };
    client_side side{client.client_left(), tell};
    callonce::answer final = co_await by.guarded.answer(as, std::move(asked), std::move(side));
    ended = co_await send(client, std::move(final), from);
    if (ended.status != 0) by.guarded.sent(as, ended.status);
  }
  if (log_.writes_access()) ended.record = as.record_id();
  co_return ended;
}

asio::awaitable<service::ending> service::send(beast::exchange& client, callonce::answer final,
                                               const asker& from) {
  const request_outcome how = outcome_of(final.head);
  const int status = final.head.status();
  cors::open_for(from.origin, final.head);
  mark_for_client(final.head, from.request_id);
  const result<void> sent = co_await client.send(std::move(final));
  co_return ending{sent ? status : 0, how};
}

}  // namespace callonce::gateway
