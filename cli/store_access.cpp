#include <iostream>
#include <stdexcept>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/configured.hpp>
#include <cli/store_access.hpp>
#include <cli/verbs.hpp>
#include <gateway/setting.hpp>
#include <gateway/store_choice.hpp>

namespace callonce::cli {
namespace {

// Only the store's own key is given here, so the other rules of a whole configuration do not apply.
std::optional<gateway::configuration> from_url(const std::string& url) {
  gateway::configuration made;
  for (const gateway::setting& each : gateway::all_settings()) {
    if (each.full_name() != "store.url") continue;
    const std::string wrong = each.set(gateway::place{made, made.defaults}, url);
    if (wrong.empty()) return made;
    std::cerr << "--store: " << wrong << '\n';
  }
  return std::nullopt;
}

}  // namespace

void add_store_options(CLI::App& verb, store_options& into) {
  CLI::Option* config =
      verb.add_option("--config", into.config, "The gateway's configuration file");
  config->type_name("FILE");
  verb.add_option(
          "--store", into.store,
          "The store itself, instead of a file: sqlite:PATH or postgres://USER@HOST/DATABASE")
      ->type_name("URL")
      ->excludes(config);
}

std::optional<gateway::configuration> settings_of(const store_options& asked) {
  if (asked.config.empty() && asked.store.empty()) {
    std::cerr << "say which store: --config callonce.toml or --store sqlite:callonce.db\n";
    return std::nullopt;
  }
  if (!asked.store.empty()) return from_url(asked.store);
  gateway::loaded_configuration read = gateway::load_file(asked.config);
  read.warnings.clear();  // They are about serving.
  return usable(read);
}

std::variant<opened_store, int> open(const store_options& asked) {
  std::optional<gateway::configuration> of = settings_of(asked);
  if (!of) return misused;
  if (of->store.memory) {
    std::cerr << "memory: lives inside the gateway's process: there is nothing to open\n";
    return misused;
  }
  if (of->store.server.empty() && !std::filesystem::exists(of->store.path)) {
    std::cerr << of->store.path.string() << ": there is no such store; a gateway creates it\n";
    return not_started;
  }
  try {
    opened_store made;
    gateway::chosen_store chosen = gateway::open_store(of->store);
    made.records = std::move(chosen.records);
    made.scope = of->scope;
    // What the records were made under counts, whatever the file says now.
    if (chosen.scope_rule) made.scope.emplace(*chosen.scope_rule);
    made.configuration = std::move(*of);
    return made;
  } catch (const std::runtime_error& fault) {
    std::cerr << "callonce: " << fault.what() << '\n';
    return not_started;
  }
}

}  // namespace callonce::cli
