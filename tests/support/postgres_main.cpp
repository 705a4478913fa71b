// A PostgreSQL server for tests in other languages: prints its URL in one line and lives until its
// standard input ends. Lines in it are `kill`, `stop` and `start`; each is answered `done`.
#include <exception>
#include <iostream>
#include <string>

#include <tests/support/postgres_server.hpp>

namespace {

bool obey(callonce::tests::postgres_server& server, const std::string& line) {
  if (line == "kill") {
    server.kill();
  } else if (line == "stop") {
    server.stop();
  } else if (line == "start") {
    server.start();
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main() {
  try {
    callonce::tests::postgres_server server;
    std::cout << server.url() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      const bool known = obey(server, line);
      std::cout << (known ? "done" : "unknown: " + line) << std::endl;
    }
    return 0;
  } catch (const std::exception& wrong) {
    std::cerr << "postgres_for_tests: " << wrong.what() << '\n';
    return 1;
  }
}
