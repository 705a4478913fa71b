#pragma once

#include <string>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>
#include <cli/store_access.hpp>

#include <callonce/engine/store.hpp>

namespace CLI {
class App;
}

namespace callonce::cli {

/// Which record: by its id, or by what the client sent.
struct key_choice {
  std::string id;
  std::vector<std::string> scope;  ///< The values that the scope rule finds, e.g. an API key.
  std::string key;
  std::string
      request;  ///< Whose route counts, where routes have scopes or identities of their own.
};

/// Adds ID, --scope, --key and --request.
void add_key_choice(CLI::App& verb, key_choice& into);

/// A record with the store's clocks at the moment it was read.
struct found_record {
  record what;
  moment read_at;
};

/// Post: the record, or the exit code after one line on standard error.
std::variant<found_record, int> find_one(const opened_store& in, const key_choice& which);

/// One record for programs.
boost::json::object to_json(const record& of, const moment& read_at);
/// An instant of a store's wall clock, for people.
std::string to_text(instant at);

void add_keys_list(CLI::App& keys, int& code);
void add_keys_show(CLI::App& keys, int& code);
void add_keys_release(CLI::App& keys, int& code);
void add_keys_settle(CLI::App& keys, int& code);

}  // namespace callonce::cli
