#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gateway/config.hpp>

#include <callonce/engine/environment.hpp>
#include <callonce/engine/store.hpp>

namespace callonce::gateway {

/// The configured store, open.
struct chosen_store {
  std::unique_ptr<store> records;
  /// The scope rule by which its records were made, if it was ever served.
  std::optional<std::string> scope_rule;
};

/// Opens a store for operators.
/// Errors: throws std::runtime_error with one line that says what to change.
chosen_store open_store(const store_settings& of, environment& in = system_environment());

/// Opens the store of a gateway. A store whose records were made under another scope rule is
/// refused, since no retry would find its record, unless `accept_new_scopes`.
/// Pre: the configuration has no mistakes.
/// Errors: throws std::runtime_error with one line that says what to change.
std::unique_ptr<store> open_store_to_serve(const configuration& of, bool accept_new_scopes,
                                           environment& in,
                                           std::function<void(std::size_t)> on_batch);

}  // namespace callonce::gateway
