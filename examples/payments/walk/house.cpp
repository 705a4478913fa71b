#include <atomic>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <boost/json.hpp>
#include <examples/payments/walk/client.hpp>
#include <examples/payments/walk/house.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace walk {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> interruption{false};

/// A port that nobody listens on. Another program may take it before we do: then the start fails
/// and says so.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(probe, generic, size) == 0 && ::getsockname(probe, generic, &size) == 0;
  const int fault = errno;
  ::close(probe);
  if (!bound) throw std::system_error(fault, std::generic_category(), "no free port");
  return ntohs(address.sin_port);
}

std::string last_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() > 5 ? lines.size() - 5 : 0; i < lines.size(); ++i)
    text += "\n  | " + lines[i];
  return text;
}

/// Waits until a freshly started program answers.
void await_start(const char* name, payments::process& program, const std::filesystem::path& log,
                 const std::function<bool()>& answers) {
  const bool started = await([&] { return program.ended() || answers(); }, 15s);
  if (started && !program.ended()) return;
  throw std::runtime_error(
      std::string(name) +
      (program.ended() ? " ended with code " + std::to_string(*program.ended()) + " at its start"
                       : " does not answer") +
      "; the end of its log, " + log.string() + ":" + last_lines(log));
}

std::string loopback(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

void interrupt() noexcept {
  interruption = true;
}

void sleep(std::chrono::milliseconds duration) {
  await([] { return false; }, duration);
}

bool await(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    if (interruption) throw interrupted();
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(10ms);
  }
}

house::house(programs programs) : programs_(std::move(programs)) {
  auto pattern = (std::filesystem::temp_directory_path() / "callonce-walk-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), pattern);
  directory_ = pattern;
  payments_port_ = free_port();
  gateway_port_ = programs_.port != 0 ? programs_.port : free_port();
  admin_port_ = free_port();
  try {
    write_config();
    start_payments();
    start_gateway();
  } catch (const interrupted&) {
    std::filesystem::remove_all(directory_);
    throw;
  }
}

house::~house() {
  // Longer than the drain in the configuration below.
  if (gateway_) gateway_->stop(7s);
  if (payments_) payments_->stop(5s);
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(directory_, ignored);
}

void house::write_config() const {
  std::ofstream file(directory_ / "callonce.toml");
  file << "listen   = \"" << loopback(gateway_port_) << "\"\n"
       << "admin    = \"" << loopback(admin_port_) << "\"\n"
       << "upstream = \"http://" << loopback(payments_port_) << "\"\n"
       << R"(
[store]
url = "sqlite:callonce.db"

[scope]
from = "header:X-Api-Key"       # an account's keys are its own

[limits]
drain = "5s"

[defaults]
lease = "4s"                    # short, so that a lapsed lease can be watched
timeout = "3s"

[[route]]
path = "/v1/charges"
key = "required"                # class opaque: after a lapsed lease it runs again

[[route]]
path = "/v1/refunds"
key = "required"
on_lapsed = "park"              # rather asks a person than pay out twice
)";
  file.close();
  if (!file) throw std::runtime_error("cannot write to " + directory_.string());
}

void house::start_payments() {
  const auto log = directory_ / "payments.log";
  // A bank's 150 ms: long enough that fifty requests meet the first one still running.
  payments_ = std::make_unique<payments::process>(
      std::vector<std::string>{programs_.payments, "--listen", loopback(payments_port_), "--ledger",
                               directory_ / "ledger.db", "--delay-ms", "150", "--supervised"},
      log);
  await_start("the payments API", *payments_, log,
              [&] { return get(payments_port_, "/ledger").has_value(); });
}

void house::start_gateway() {
  const auto log = directory_ / "gateway.log";
  gateway_ = std::make_unique<payments::process>(
      std::vector<std::string>{programs_.callonce, "serve", "--config",
                               directory_ / "callonce.toml"},
      log);
  await_start("the gateway", *gateway_, log,
              [&] { return get(admin_port_, "/readyz").has_value(); });
}

void house::kill_gateway() {
  gateway_->kill();
}

void house::look_after() {
  if (const auto code = gateway_->ended())
    throw std::runtime_error("the gateway ended with code " + std::to_string(*code));
  if (payments_->ended()) start_payments();
}

std::int64_t house::ledger(const char* field) const {
  const auto body = get(payments_port_, "/ledger");
  if (!body) throw std::runtime_error("the payments API does not answer");
  return boost::json::parse(*body).at(field).as_int64();
}

}  // namespace walk
