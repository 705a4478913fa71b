#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gateway/config.hpp>

#include <callonce/engine/store.hpp>

namespace CLI {
class App;
}

namespace callonce::cli {

/// Which store a verb works on; any gateway may run or not.
struct store_options {
  std::string config;
  std::string store;
};

/// Adds --config and --store.
void add_store_options(CLI::App& verb, store_options& into);

/// What is configured, without opening it.
/// Post: nothing, after one line on standard error.
std::optional<gateway::configuration> settings_of(const store_options& asked);

/// An open store and what is known of its configuration.
struct opened_store {
  gateway::configuration configuration;  ///< Defaults where only --store was given.
  std::unique_ptr<callonce::store> records;
  std::optional<scope_rule> scope;  ///< By which its records were made.
};

/// Post: an open store, or the exit code after one line on standard error.
std::variant<opened_store, int> open(const store_options& asked);

/// Runs one operation of a store to its end.
template <class Value>
Value wait_for(asio::awaitable<Value> operation) {
  asio::io_context io{1};
  std::optional<Value> ended;
  asio::co_spawn(io, std::move(operation), [&](const std::exception_ptr& fault, Value value) {
    if (fault) std::rethrow_exception(fault);
    ended.emplace(std::move(value));
  });
  io.run();
  return std::move(*ended);
}

}  // namespace callonce::cli
