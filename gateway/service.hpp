#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <gateway/config.hpp>
#include <gateway/cors.hpp>
#include <gateway/forwarded.hpp>
#include <gateway/log.hpp>
#include <gateway/metrics.hpp>
#include <gateway/routes.hpp>
#include <gateway/upstream.hpp>

#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/engine.hpp>

namespace callonce::gateway {

/// What becomes of one exchange: finds its route, passes it through or protects it, counts it and
/// writes its access line.
/// Threads: one executor.
class service {
 public:
  /// Pre: all references outlive the service and its exchanges.
  service(std::shared_ptr<const configuration> of, engine& over, asio::any_io_executor executor,
          const log& lines, metrics& counts, observer& facts, environment& in);
  ~service();
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  /// Pre: the service outlives the exchange; its runs may outlive the service.
  asio::awaitable<void> answer(beast::exchange& client);
  /// Closes the connections to the applications. Pre: no exchange and no run is left or to come.
  void close();

 private:
  struct served_route;
  struct ending;
  struct asker;

  void serve_route(const route_settings& of);
  std::shared_ptr<upstream> application_at(const endpoint& where);
  const served_route& route_for(std::string_view target) const;
  request_outcome unprotected_outcome(const served_route& by, const request& head) const;

  asio::awaitable<ending> respond(beast::exchange& client, const served_route& by,
                                  const asker& from);
  asio::awaitable<ending> pass(beast::exchange& client, const served_route& by, const asker& from);
  asio::awaitable<ending> protect(beast::exchange& client, const served_route& by, identity as,
                                  const asker& from);
  asio::awaitable<ending> send(beast::exchange& client, callonce::answer final, const asker& from);

  const std::shared_ptr<const configuration> config_;
  const cors cors_;
  engine& engine_;
  asio::any_io_executor executor_;
  const log& log_;
  metrics& counts_;
  observer& facts_;
  environment& env_;
  request_ids ids_;
  std::map<std::string, std::shared_ptr<upstream>> applications_;
  std::vector<std::unique_ptr<served_route>> routes_;  ///< The last one is the defaults.
  route_table table_;
};

}  // namespace callonce::gateway
