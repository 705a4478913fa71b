// effect_app [PORT]: serves until it is stopped; prints the address once it listens.
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>

#include <conform/effect_app/server.hpp>

int main(int count, char** arguments) {
  std::uint16_t port = 0;
  if (count > 1) {
    const char* const end = arguments[1] + std::strlen(arguments[1]);
    if (std::from_chars(arguments[1], end, port).ptr != end) {
      std::cerr << "usage: effect_app [PORT]\n";
      return 1;
    }
  }
  // Blocked before any thread starts, so that only sigwait takes them.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  try {
    const conform::effect_server server{port};
    std::cout << "listening on 127.0.0.1:" << server.port() << std::endl;
    int signal = 0;
    sigwait(&stops, &signal);
  } catch (const std::exception& problem) {
    std::cerr << "effect_app: " << problem.what() << '\n';
    return 2;
  }
  return 0;
}
