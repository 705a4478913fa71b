#pragma once

namespace CLI {
class App;
}

namespace callonce::cli {

/// What every verb may end with. 0 is success; for `serve`: everything was drained.
enum exit_code : int {
  done = 0,
  misused = 1,         ///< Command line or configuration; one line each says what to change.
  not_started = 2,     ///< Port, file or store cannot be used.
  drain_deadline = 3,  ///< `serve` only: attempts were left, their leases lapse by themselves.
  not_applied = 4,     ///< `keys`: no such record, or it is not as the command says.
};

// Each adds its verb to the command line; when it is chosen, it sets `code`.
void add_serve(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_keys(CLI::App& app, int& code);
void add_purge(CLI::App& app, int& code);
void add_policy(CLI::App& app, int& code);
void add_migrate(CLI::App& app, int& code);

}  // namespace callonce::cli
