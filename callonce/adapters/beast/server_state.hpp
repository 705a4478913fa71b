#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include <callonce/adapters/beast/body_collector.hpp>
#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::beast {

namespace detail {
class connection;
}

/// What the connections of a server share, and their one coarse clock: a timer for each read would
/// cost more than many requests do.
class server::state : public std::enable_shared_from_this<server::state> {
 public:
  state(service does, server_limits may, environment& where);

  std::list<detail::connection*>::iterator enter(detail::connection* one,
                                                 const asio::any_io_executor& on);
  void leave(std::list<detail::connection*>::iterator place);
  void drain();
  void close();

  const service answers;
  const server_limits limits;
  environment& in;
  const std::shared_ptr<detail::body_budget> budget;
  std::string date_line;
  std::list<detail::connection*> open;
  bool draining = false;
  callonce::detail::event empty;

 private:
  void start_clock(const asio::any_io_executor& on);
  void tick(const asio::any_io_executor& on);
  void find_who_left();

  std::unique_ptr<alarm> clock_;
};

}  // namespace callonce::beast
