#include <array>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gateway/admin.hpp>
#include <gateway/gateway.hpp>
#include <gateway/listener.hpp>
#include <gateway/observed_store.hpp>
#include <gateway/reload.hpp>
#include <gateway/service.hpp>
#include <gateway/store_choice.hpp>
#include <gateway/telemetry.hpp>
#include <gateway/version.hpp>
#include <sys/resource.h>

#include <callonce/engine/engine.hpp>
#include <callonce/engine/purger.hpp>

namespace callonce::gateway {
namespace {

// Health and metrics are asked for by a few watchers.
constexpr std::size_t admin_connections = 64;
// Store, log, database files, spooled bodies.
constexpr std::uint64_t other_descriptors = 64;

engine_limits limits_of(const configuration& of) {
  engine_limits made;
  made.wait_slots = of.limits.wait_slots;
  made.detached_slots = of.limits.detached_slots;
  made.store_patience = of.store.timeout;
  return made;
}

beast::server_limits server_limits_of(const configuration& of) {
  beast::server_limits made;
  made.header_bytes_max = of.limits.header_bytes_max;
  made.header_timeout = of.limits.header_timeout;
  made.body_timeout = of.limits.body_timeout;
  made.idle_timeout = of.limits.idle_timeout;
  made.buffered_bytes_max = of.limits.buffered_bytes_max;
  return made;
}

std::vector<std::string> route_names(const configuration& of) {
  std::vector<std::string> names{of.defaults.policy.name};
  for (const route_settings& each : of.routes) names.push_back(each.policy.name);
  return names;
}

std::string joined(const std::vector<endpoint>& all) {
  std::string made;
  for (const endpoint& each : all) made.append(made.empty() ? "" : ", ").append(to_text(each));
  return made;
}

std::string scope_of(const configuration& of) {
  const std::string& rule = of.scope->text();
  return of.scope->is_shared() ? rule + ": callers can read each other's answers" : rule;
}

std::string classes_of(const configuration& of) {
  std::array<std::size_t, 3> counts{};
  ++counts[static_cast<std::size_t>(of.defaults.policy.effects)];
  for (const route_settings& each : of.routes) {
    ++counts[static_cast<std::size_t>(each.policy.effects)];
  }
  constexpr std::array<std::string_view, 3> names{"opaque", "rerunnable", "atomic"};
  std::string made;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    made.append(made.empty() ? "" : ", ").append(names[i]).append(" ");
    made += std::to_string(counts[i]);
  }
  return made;
}

/// Tells two observers, one after the other.
class both final : public observer {
 public:
  both(observer& first, observer* second) : first_(first), second_(second) {}
  void on(const fact& what) override {
    first_.on(what);
    if (second_ != nullptr) second_->on(what);
  }

 private:
  observer& first_;
  observer* second_;
};

}  // namespace

class gateway::state {
 public:
  state(configuration of, const log& lines, start_options with, environment& in)
      : config_(std::make_shared<const configuration>(std::move(of))),
        log_(lines),
        reload_(std::move(with.reload)),
        env_(in),
        counts_(route_names(*config_), version, [this] { return numbers(); }),
        telemetry_(log_, counts_, env_),
        facts_(telemetry_, with.also_tell),
        store_(open_store_to_serve(*config_, with.accept_new_scopes, env_,
                                   [this](std::size_t size) { counts_.count_batch(size); })),
        observed_(*store_, env_,
                  [this](std::string_view operation, std::chrono::steady_clock::duration took) {
                    counts_.count_store(operation, took);
                  }),
        engine_(observed_, env_, &facts_, limits_of(*config_)),
        service_(make_service(config_)),
        admin_(*store_, counts_, env_, version),
        purger_(observed_, env_, &facts_),
        public_(
            io_.get_executor(), "listen", config_->listen,
            [this](beast::exchange& client) { return answer(client); }, server_limits_of(*config_),
            config_->limits.connections, env_),
        signals_(io_, SIGTERM, SIGINT),
        reloads_(io_, SIGHUP) {
    if (config_->admin) {
      inside_.emplace(
          io_.get_executor(), "admin", std::vector<endpoint>{*config_->admin},
          [this](beast::exchange& client) { return admin_.answer(client); }, beast::server_limits{},
          admin_connections, env_);
    }
  }

  gateway_end run() {
    raise_descriptor_limit();
    public_.start();
    if (inside_) inside_->start();
    asio::co_spawn(io_, purger_.run(stop_purging_.get_token()), asio::detached);
    asio::co_spawn(io_, watch_signals(), asio::detached);
    asio::co_spawn(io_, watch_reloads(), asio::detached);
    tell_start();
    io_.run();
    return end_;
  }

 private:
  std::shared_ptr<service> make_service(std::shared_ptr<const configuration> of) {
    return std::make_shared<service>(std::move(of), engine_, io_.get_executor(), log_, counts_,
                                     facts_, env_);
  }

  // An exchange ends under the configuration that it began under.
  asio::awaitable<void> answer(beast::exchange& client) {
    const std::shared_ptr<service> by = service_;
    co_await by->answer(client);
  }

  asio::awaitable<void> watch_reloads() {
    for (;;) {
      boost::system::error_code fault;
      co_await reloads_.async_wait(asio::redirect_error(asio::use_awaitable, fault));
      if (fault) co_return;
      reload();
    }
  }

  // Post: all of the new configuration counts for new claims, or nothing of it.
  void reload() {
    if (!reload_) {
      log_.warning("reload_refused", {{"advice", "nothing to read again: serve with --config"}});
      return;
    }
    loaded_configuration read = reload_();
    if (read.mistakes.empty()) read.mistakes = reload_mistakes(*config_, read.value);
    for (const std::string& line : read.mistakes) {
      log_.write(log_level::error, "reload_refused", {{"advice", line}});
    }
    if (!read.mistakes.empty()) return;
    for (const std::string& line : read.warnings) {
      log_.warning("configuration", {{"advice", line}});
    }
    counts_.add_routes(route_names(read.value));
    config_ = std::make_shared<const configuration>(std::move(read.value));
    service_ = make_service(config_);
    log_.info("reloaded", {{"routes", std::uint64_t{config_->routes.size()}},
                           {"classes", classes_of(*config_)}});
  }

  live_numbers numbers() const {
    live_numbers now;
    now.runs = engine_.runs();
    now.waiters = engine_.waiters();
    now.detached = engine_.detached();
    now.connections = public_.connections();
    return now;
  }

  // Every client may need a connection to the application as well.
  void raise_descriptor_limit() const {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const std::uint64_t wanted =
        config_->limits.connections + config_->limits.upstream_connections + other_descriptors;
    if (limit.rlim_cur >= wanted) return;
    log_.warning("descriptors", {{"limit", std::uint64_t{limit.rlim_cur}},
                                 {"wanted", wanted},
                                 {"advice", "raise LimitNOFILE or lower limits.connections"}});
  }

  void tell_start() const {
    const store_traits is = store_->traits();
    log_.info("started", {{"version", version},
                          {"listen", joined(public_.where())},
                          {"admin", inside_ ? joined(inside_->where()) : "off"},
                          {"store", is.name},
                          {"scope", scope_of(*config_)},
                          {"routes", std::uint64_t{config_->routes.size()}},
                          {"classes", classes_of(*config_)}});
  }

  asio::awaitable<void> watch_signals() {
    boost::system::error_code fault;
    co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, fault));
    if (fault) co_return;
    asio::co_spawn(io_, shut_down(), asio::detached);
    co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, fault));
    if (fault) co_return;
    log_.warning("hurried", {{"runs", std::uint64_t{engine_.runs()}}});
    end_ = gateway_end::deadline;
    io_.stop();
  }

  asio::awaitable<void> shut_down() {
    // What ends at once must not end before the second signal is waited for, which it withdraws.
    co_await asio::post(io_, asio::use_awaitable);
    log_.info("draining", {{"runs", std::uint64_t{engine_.runs()}},
                           {"connections", std::uint64_t{public_.connections()}}});
    const steady_time deadline = env_.now() + config_->limits.drain;
    admin_.drain();
    public_.drain();
    engine_.drain();
    stop_purging_.request_stop();
    const bool no_connection = co_await public_.drained(deadline);
    const bool no_run = co_await engine_.drained(deadline);
    const bool all = no_connection && no_run;
    end_ = all ? gateway_end::drained : gateway_end::deadline;
    log_.write(all ? log_level::info : log_level::warning, all ? "drained" : "drain_deadline",
               {{"runs", std::uint64_t{engine_.runs()}},
                {"connections", std::uint64_t{public_.connections()}}});
    if (!all) {
      io_.stop();
      co_return;
    }
    if (inside_) inside_->close();
    service_->close();
    signals_.cancel();
    reloads_.cancel();
  }

  std::shared_ptr<const configuration> config_;
  const log& log_;
  const std::function<loaded_configuration()> reload_;
  environment& env_;
  asio::io_context io_{1};
  metrics counts_;
  telemetry telemetry_;
  both facts_;
  const std::unique_ptr<store> store_;
  observed_store observed_;
  engine engine_;
  std::shared_ptr<service> service_;
  admin admin_;
  purger purger_;
  listener public_;
  std::optional<listener> inside_;
  asio::signal_set signals_;
  asio::signal_set reloads_;
  std::stop_source stop_purging_;
  gateway_end end_ = gateway_end::deadline;
};

gateway::gateway(configuration of, const log& lines, start_options with, environment& in)
    : state_(std::make_unique<state>(std::move(of), lines, std::move(with), in)) {}

gateway::~gateway() = default;

gateway_end gateway::run() {
  return state_->run();
}

}  // namespace callonce::gateway
