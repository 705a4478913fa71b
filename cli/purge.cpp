#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/store_access.hpp>
#include <cli/verbs.hpp>

namespace callonce::cli {
namespace {

// Small enough that a running gateway's claims pass between two batches.
constexpr std::size_t batch = 500;

int purge(const store_options& asked) {
  auto opened = open(asked);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  store& records = *std::get<opened_store>(opened).records;
  purge_reply all;
  for (bool more = true; more;) {
    const result<purge_reply> reply = wait_for(records.purge(batch));
    if (!reply) {
      std::cerr << "purge: the store failed: " << reply.error().message() << '\n';
      return not_started;
    }
    all.bodies += reply->bodies;
    all.records += reply->records;
    all.parked += reply->parked;
    more = reply->more;
  }
  std::cout << "removed " << all.records << " records and " << all.bodies << " bodies; "
            << all.parked << " lapsed claims are parked now\n";
  return done;
}

}  // namespace

void add_purge(CLI::App& app, int& code) {
  auto asked = std::make_shared<store_options>();
  CLI::App* verb = app.add_subcommand("purge", "Remove what is past its retention, now");
  add_store_options(*verb, *asked);
  verb->footer(
      "A running gateway purges by itself; this is for a store that none serves any more, or for\n"
      "room at once. It works beside running gateways.\n\n"
      "Example:\n  callonce purge --config callonce.toml\n\n"
      "Exit codes: 0 done; 1 command line or configuration; 2 the store cannot be used");
  verb->callback([asked, &code] { code = purge(*asked); });
}

}  // namespace callonce::cli
