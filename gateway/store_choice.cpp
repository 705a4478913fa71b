#include <stdexcept>

#include <gateway/store_choice.hpp>

#include <callonce/stores/memory/store.hpp>
#include <callonce/stores/sqlite/store.hpp>

namespace callonce::gateway {
namespace {

std::unique_ptr<sqlite::store> open_file(const store_settings& of, environment& in) {
  sqlite::options with;
  with.timeout = of.timeout;
  try {
    return std::make_unique<sqlite::store>(of.path, std::move(with), in);
  } catch (const std::runtime_error& wrong) {
    throw std::runtime_error("store.url: sqlite:" + of.path.string() + ": " + wrong.what());
  }
}

}  // namespace

chosen_store open_store(const store_settings& of, environment& in) {
  chosen_store made;
  if (of.memory) {
    made.records = std::make_unique<memory::store>(in);
    return made;
  }
  std::unique_ptr<sqlite::store> file = open_file(of, in);
  made.scope_rule = file->identity_rules();
  made.records = std::move(file);
  return made;
}

std::unique_ptr<store> open_store_to_serve(const configuration& of, bool accept_new_scopes,
                                           environment& in) {
  if (of.store.memory) return std::make_unique<memory::store>(in);
  std::unique_ptr<sqlite::store> file = open_file(of.store, in);
  const std::string& rule = of.scope->text();
  if (const auto written = file->identity_rules();
      written && *written != rule && !accept_new_scopes) {
    throw std::runtime_error("scope.from: the keys in " + of.store.path.string() +
                             " were made under " + *written + ", now it is " + rule +
                             ": retries of old requests would run again; put it back, use another "
                             "store, or serve with --accept-new-scopes");
  }
  file->bind_identity_rules(rule, accept_new_scopes);
  return file;
}

}  // namespace callonce::gateway
