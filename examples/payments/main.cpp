// A small charges API in front of a ledger, slow as a bank is, with test cards that make it
// misbehave.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

#include <examples/payments/api.hpp>
#include <examples/payments/number.hpp>
#include <getopt.h>
#include <signal.h>

namespace {

constexpr auto usage =
    "usage: payments [--listen 127.0.0.1:PORT] [--ledger PATH] [--delay-ms N] [--supervised]\n"
    "  --listen      address; port 0 takes a free one (default 127.0.0.1:9000)\n"
    "  --ledger      SQLite file (default payments.db)\n"
    "  --delay-ms    how long the bank takes for one operation (default 100)\n"
    "  --supervised  tok_crash may end this process: its starter starts it again\n";

int number_in(const std::string& text, int max) {
  if (const auto value = payments::number(text, max)) return *value;
  throw std::invalid_argument("not a number from 0 to " + std::to_string(max) + ": " + text);
}

struct options {
  std::string host = "127.0.0.1";
  int port = 9000;
  std::string ledger = "payments.db";
  payments::settings settings;
};

options parse(int argc, char** argv) {
  options chosen;
  const option known[] = {
      {"listen", required_argument, nullptr, 'l'},   {"ledger", required_argument, nullptr, 'd'},
      {"delay-ms", required_argument, nullptr, 'm'}, {"supervised", no_argument, nullptr, 's'},
      {"help", no_argument, nullptr, 'h'},           {nullptr, 0, nullptr, 0}};
  for (int flag; (flag = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    if (flag == 'l') {
      const auto colon = value.rfind(':');
      if (colon == std::string::npos) throw std::invalid_argument("--listen wants ADDRESS:PORT");
      chosen.host = value.substr(0, colon);
      chosen.port = number_in(value.substr(colon + 1), 65535);
    } else if (flag == 'd') {
      chosen.ledger = value;
    } else if (flag == 'm') {
      chosen.settings.delay = std::chrono::milliseconds(number_in(value, 60'000));
    } else if (flag == 's') {
      chosen.settings.supervised = true;
    } else {
      (flag == 'h' ? std::cout : std::cerr) << usage;
      std::exit(flag == 'h' ? 0 : 1);
    }
  }
  if (optind < argc) throw std::invalid_argument(std::string("unexpected: ") + argv[optind]);
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto chosen = parse(argc, argv);
    sigset_t endings;
    sigemptyset(&endings);
    sigaddset(&endings, SIGTERM);
    sigaddset(&endings, SIGINT);
    pthread_sigmask(SIG_BLOCK, &endings, nullptr);

    payments::ledger ledger(chosen.ledger);
    payments::api api(ledger, chosen.settings);
    const int port = api.bind(chosen.host, chosen.port);
    std::cout << "http://" << chosen.host << ":" << port << std::endl;

    std::thread ender([&] {
      int signal = 0;
      sigwait(&endings, &signal);
      api.stop();
    });
    api.run();
    ender.join();
    return 0;
  } catch (const std::exception& fault) {
    std::cerr << "payments: " << fault.what() << "\n";
    return 1;
  }
}
