#include <stdexcept>

#include <gateway/store_choice.hpp>

#include <callonce/stores/memory/store.hpp>
#include <callonce/stores/postgres/store.hpp>
#include <callonce/stores/sqlite/store.hpp>

namespace callonce::gateway {
namespace {

std::string one_line(std::string rules) {
  for (std::size_t at = rules.find('\n'); at != std::string::npos; at = rules.find('\n', at)) {
    rules.replace(at, 1, "; ");
  }
  return rules;
}

template <class Store, class Where, class Options>
std::unique_ptr<Store> open(const store_settings& of, const Where& where, environment& in,
                            Options with) {
  with.timeout = of.timeout;
  try {
    return std::make_unique<Store>(where, with, in);
  } catch (const std::runtime_error& wrong) {
    throw std::runtime_error("store.url: " + of.shown() + ": " + wrong.what());
  }
}

std::unique_ptr<sqlite::store> open_file(const store_settings& of, environment& in,
                                         std::function<void(std::size_t)> on_batch = {}) {
  sqlite::options with;
  with.on_batch = std::move(on_batch);
  return open<sqlite::store>(of, of.path, in, std::move(with));
}

std::unique_ptr<postgres::store> open_server(const store_settings& of, environment& in,
                                             std::function<void(std::size_t)> on_batch = {}) {
  postgres::options with;
  with.on_batch = std::move(on_batch);
  if (of.rows) with.statements = postgres::statement_form::rows;
  return open<postgres::store>(of, of.server, in, std::move(with));
}

template <class Store>
chosen_store for_operators(std::unique_ptr<Store> records) {
  chosen_store made;
  if (const auto written = records->identity_rules()) {
    made.scope_rule = written->substr(0, written->find('\n'));
  }
  made.records = std::move(records);
  return made;
}

template <class Store>
std::unique_ptr<store> to_serve(std::unique_ptr<Store> records, const configuration& of,
                                bool accept_new_scopes) {
  const std::string rule = identity_rules(of);
  if (const auto written = records->identity_rules();
      written && *written != rule && !accept_new_scopes) {
    throw std::runtime_error("scope.from: the keys in " + of.store.shown() + " were made under " +
                             one_line(*written) + ", now it is " + one_line(rule) +
                             ": retries of old requests would run again; put it back, use another "
                             "store, or serve with --accept-new-scopes");
  }
  records->bind_identity_rules(rule, accept_new_scopes);
  return records;
}

}  // namespace

chosen_store open_store(const store_settings& of, environment& in) {
  if (!of.server.empty()) return for_operators(open_server(of, in));
  if (!of.memory) return for_operators(open_file(of, in));
  chosen_store made;
  made.records = std::make_unique<memory::store>(in);
  return made;
}

std::unique_ptr<store> open_store_to_serve(const configuration& of, bool accept_new_scopes,
                                           environment& in,
                                           std::function<void(std::size_t)> on_batch) {
  if (of.store.memory) return std::make_unique<memory::store>(in);
  if (of.store.server.empty()) {
    return to_serve(open_file(of.store, in, std::move(on_batch)), of, accept_new_scopes);
  }
  return to_serve(open_server(of.store, in, std::move(on_batch)), of, accept_new_scopes);
}

}  // namespace callonce::gateway
