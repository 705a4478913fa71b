#include "bench/support/gateway_process.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

using namespace std::chrono_literals;

std::uint16_t free_port() {
  asio::io_context io;
  const tcp::acceptor probe{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
  return probe.local_endpoint().port();
}

std::string get(std::uint16_t port, const std::string& path) {
  asio::io_context io;
  tcp::socket over{io};
  boost::system::error_code fault;
  over.connect({asio::ip::address_v4::loopback(), port}, fault);
  if (fault) return {};
  const std::string asked = "GET " + path + " HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n";
  asio::write(over, asio::buffer(asked), fault);
  std::string all;
  asio::read(over, asio::dynamic_buffer(all), fault);
  return all;
}

// Ten thousand connections, here and in the gateway.
void allow_many_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

gateway_process::gateway_process(const std::string& callonce, const std::string& settings) {
  allow_many_descriptors();
  std::string pattern = (std::filesystem::temp_directory_path() / "callonce-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  port_ = free_port();
  admin_ = free_port();
  const std::string config = folder_ + "/callonce.toml";
  std::ofstream{config} << "listen = \"127.0.0.1:" << port_ << "\"\nadmin = \"127.0.0.1:" << admin_
                        << "\"\n"
                        << settings << "[store]\nurl = \"sqlite:" << folder_
                        << "/callonce.db\"\n[scope]\nfrom = \"header:X-Api-Key\"\n"
                        << "[log]\naccess = false\n";
  pid_ = fork();
  if (pid_ == 0) {
    const int log = open("build/bench/gateway.log", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl(callonce.c_str(), callonce.c_str(), "serve", "--config", config.c_str(), nullptr);
    _exit(127);
  }
  for (int tries = 0; tries < 200; ++tries) {
    if (get(admin_, "/readyz").find(" 200 ") != std::string::npos) return;
    std::this_thread::sleep_for(50ms);
  }
  throw std::runtime_error("the gateway did not become ready: see build/bench/gateway.log");
}

gateway_process::~gateway_process() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

double gateway_process::metric_sum(const std::string& name) const {
  std::istringstream lines{get(admin_, "/metrics")};
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

}  // namespace bench
