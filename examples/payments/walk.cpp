// A guided tour: the payments API, the gateway in front of it, and real requests through both.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

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
  std::fputs(usage, code == 0 ? stdout : stderr);
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
    if (flag == 'p') chosen.programs.port = std::atoi(optarg);
    if (flag == 'o') chosen.once = true;
    if (flag == 'h') explain(0);
    if (flag == '?') explain(2);
  }
  const bool complete = !chosen.programs.callonce.empty() && !chosen.programs.payments.empty();
  if (!complete || optind < argc || chosen.programs.port < 0 || chosen.programs.port > 65535)
    explain(2);
  for (const auto& program : {chosen.programs.callonce, chosen.programs.payments})
    if (::access(program.c_str(), X_OK) != 0) {
      std::fprintf(stderr, "%s cannot be executed: build it first\n", program.c_str());
      std::exit(2);
    }
  return chosen;
}

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { walk::interrupt(); };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void summarise(walk::house& house, const walk::table& table) {
  if (table.wrong() == 0) {
    std::printf("\nAll %d rows are right.\n", table.rows());
    return;
  }
  house.keep();
  std::printf("\n%d of %d rows are WRONG. Look at gateway.log and payments.log in\n  %s\n",
              table.wrong(), table.rows(), house.directory().c_str());
}

void invite(const walk::house& house) {
  const auto post = [&](const char* amount) {
    std::printf(
        "  curl -i http://127.0.0.1:%d/v1/charges -H 'X-Api-Key: sk_test_you' "
        "-H 'Idempotency-Key: mine-1' --json '{\"amount\":%s,\"currency\":\"eur\",\"source\":"
        "\"tok_visa\"}'\n",
        house.gateway_port(), amount);
  };
  std::printf("\nNow you. Send the first line twice, then the second, and look at the ledger:\n\n");
  post("4200");
  post("9900");
  std::printf("  curl http://127.0.0.1:%d/ledger\n\n", house.payments_port());
  std::printf("Serving until Ctrl-C; logs and files are in %s\n", house.directory().c_str());
  std::fflush(stdout);
}

/// Serves until a signal comes.
void serve(walk::house& house) {
  try {
    while (true) {
      house.look_after();
      walk::sleep(100ms);
    }
  } catch (const walk::interrupted&) {
    std::printf("\nStopping.\n");
  }
}

/// The walk, and serving after it. Returns the exit code.
int run(walk::house& house, bool once) {
  std::printf("gateway http://127.0.0.1:%d in front of the payments API http://127.0.0.1:%d\n\n",
              house.gateway_port(), house.payments_port());
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
      std::printf("\nLogs and files are kept in %s\n", house.directory().c_str());
      throw;
    }
  } catch (const walk::interrupted&) {
    std::printf("\nStopped before the end.\n");
    return 130;
  } catch (const std::exception& fault) {
    std::fflush(stdout);
    std::fprintf(stderr, "payments-walk: %s\n", fault.what());
    return 2;
  }
}
