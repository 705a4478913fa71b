// A guided tour: the payments API, the gateway in front of it, and real requests through both.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include <examples/payments/number.hpp>
#include <examples/payments/walk/house.hpp>
#include <examples/payments/walk/story.hpp>
#include <examples/payments/walk/table.hpp>
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr auto usage =
    "usage: payments-walk --callonce PATH --payments PATH [--port N] [--once]\n"
    "  --callonce  the gateway's program\n"
    "  --payments  the payments API's program\n"
    "  --port      where the gateway listens on 127.0.0.1 (default: a free port)\n"
    "  --once      end after the walk; exit code 1 if a row is wrong\n";

struct options {
  walk::programs programs;
  bool once = false;
};

[[noreturn]] void explain(int code) {
  (code == 0 ? std::cout : std::cerr) << usage;
  std::exit(code);
}

options parse(int argc, char** argv) {
  options chosen;
  const option known[] = {
      {"callonce", required_argument, nullptr, 'c'}, {"payments", required_argument, nullptr, 'a'},
      {"port", required_argument, nullptr, 'p'},     {"once", no_argument, nullptr, 'o'},
      {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0}};
  for (int flag; (flag = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    if (flag == 'c') chosen.programs.callonce = optarg;
    if (flag == 'a') chosen.programs.payments = optarg;
    if (flag == 'p') chosen.programs.port = payments::number(optarg, 65535).value_or(-1);
    if (flag == 'o') chosen.once = true;
    if (flag == 'h') explain(0);
    if (flag == '?') explain(2);
  }
  const bool complete = !chosen.programs.callonce.empty() && !chosen.programs.payments.empty();
  if (!complete || optind < argc || chosen.programs.port < 0) explain(2);
  for (const auto& program : {chosen.programs.callonce, chosen.programs.payments})
    if (::access(program.c_str(), X_OK) != 0) {
      std::cerr << program << " cannot be executed: build it first\n";
      std::exit(2);
    }
  return chosen;
}

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { walk::interrupt(); };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void summarise(walk::house& house, const walk::table& table) {
  if (table.wrong() == 0) {
    std::cout << "\nAll " << table.rows() << " rows are right." << std::endl;
    return;
  }
  house.keep();
  std::cout << "\n"
            << table.wrong() << " of " << table.rows()
            << " rows are WRONG. Look at gateway.log and payments.log in\n  "
            << house.directory().string() << std::endl;
}

void invite(const walk::house& house) {
  const auto charge = "  curl -i http://127.0.0.1:" + std::to_string(house.gateway_port()) +
                      "/v1/charges -H 'X-Api-Key: sk_test_you' -H 'Idempotency-Key: mine-1' ";
  std::cout << "\nNow you. Send the first line twice, then the second, and look at the ledger:\n\n"
            << charge << R"(--json '{"amount":4200,"currency":"eur","source":"tok_visa"}')"
            << "\n"
            << charge << R"(--json '{"amount":9900,"currency":"eur","source":"tok_visa"}')"
            << "\n"
            << "  curl http://127.0.0.1:" << house.payments_port() << "/ledger\n\n"
            << "Serving until Ctrl-C; logs and files are in " << house.directory().string()
            << std::endl;
}

/// Serves until a signal comes.
void serve(walk::house& house) {
  try {
    while (true) {
      house.look_after();
      walk::sleep(100ms);
    }
  } catch (const walk::interrupted&) {
    std::cout << "\nStopping." << std::endl;
  }
}

/// The walk, and serving after it. Returns the exit code.
int run(walk::house& house, bool once) {
  std::cout << "gateway http://127.0.0.1:" << house.gateway_port()
            << " in front of the payments API http://127.0.0.1:" << house.payments_port() << "\n\n";
  walk::table table;
  walk::story(house, table).tell();
  summarise(house, table);
  if (!once) {
    invite(house);
    serve(house);
  }
  return table.wrong() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto chosen = parse(argc, argv);
  end_on_signals();
  try {
    walk::house house(chosen.programs);
    try {
      return run(house, chosen.once);
    } catch (const walk::interrupted&) {
      throw;
    } catch (const std::exception&) {
      house.keep();
      std::cout << "\n\nLogs and files are kept in " << house.directory().string() << std::endl;
      throw;
    }
  } catch (const walk::interrupted&) {
    std::cout << "\nStopped before the end." << std::endl;
    return 130;
  } catch (const std::exception& fault) {
    std::cerr << "payments-walk: " << fault.what() << "\n";
    return 2;
  }
}
