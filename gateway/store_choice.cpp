#include <stdexcept>

#include <gateway/store_choice.hpp>

#include <callonce/stores/memory/store.hpp>
#include <callonce/stores/sqlite/store.hpp>

namespace callonce::gateway {
namespace {

std::unique_ptr<sqlite::store> open_file(const store_settings& of, environment& in,
                                         std::function<void(std::size_t)> on_batch = {}) {
  sqlite::options with;
  with.on_batch = std::move(on_batch);
  with.timeout = of.timeout;
  try {
    return std::make_unique<sqlite::store>(of.path, std::move(with), in);
  } catch (const std::runtime_error& wrong) {
    throw std::runtime_error("store.url: sqlite:" + of.path.string() + ": " + wrong.what());
  }
}

std::string one_line(std::string rules) {
  for (std::size_t at = rules.find('\n'); at != std::string::npos; at = rules.find('\n', at)) {
    rules.replace(at, 1, "; ");
  }
  return rules;
}

}  // namespace

chosen_store open_store(const store_settings& of, environment& in) {
  chosen_store made;
  if (of.memory) {
    made.records = std::make_unique<memory::store>(in);
    return made;
  }
  std::unique_ptr<sqlite::store> file = open_file(of, in);
  if (const auto written = file->identity_rules()) {
    made.scope_rule = written->substr(0, written->find('\n'));
  }
  made.records = std::move(file);
  return made;
}

std::unique_ptr<store> open_store_to_serve(const configuration& of, bool accept_new_scopes,
                                           environment& in,
                                           std::function<void(std::size_t)> on_batch) {
  if (of.store.memory) return std::make_unique<memory::store>(in);
  std::unique_ptr<sqlite::store> file = open_file(of.store, in, std::move(on_batch));
  const std::string rule = identity_rules(of);
  if (const auto written = file->identity_rules();
      written && *written != rule && !accept_new_scopes) {
    throw std::runtime_error("scope.from: the keys in " + of.store.path.string() +
                             " were made under " + one_line(*written) + ", now it is " +
                             one_line(rule) +
                             ": retries of old requests would run again; put it back, use another "
                             "store, or serve with --accept-new-scopes");
  }
  file->bind_identity_rules(rule, accept_new_scopes);
  return file;
}

}  // namespace callonce::gateway
