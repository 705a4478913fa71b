#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include <conform/nodes.hpp>
#include <sys/resource.h>
#include <unistd.h>

namespace conform {
namespace {

// A debug or sanitizer build on a busy machine; a healthy start takes a tenth of a second.
constexpr std::chrono::seconds start_patience{20};

// Chosen by the kernel and given back; `start` shows it if another program was faster.
// The kernel may give a port again that was just let go: each is handed out once.
std::uint16_t free_port() {
  static std::mutex mutex;
  static std::set<std::uint16_t> given;
  const std::lock_guard guard{mutex};
  std::uint16_t port = 0;
  do {
    port = 0;
    ::close(listen_on_loopback(port, 1));
  } while (!given.insert(port).second);
  return port;
}

constexpr std::string_view standing_routes = R"(
[[route]]
path = "/e"
key = "required"
[[route]]
path = "/plain"
key = "off"
[[route]]
path = "/strict/e"
key = "required"
key_syntax = "strict"
[[route]]
path = "/wait/e"
wait = "5s"
[[route]]
path = "/brief/e"
wait = "500ms"
[[route]]
path = "/short/e"
lease = "2s"
[[route]]
path = "/late/e"
timeout = "1s"
[[route]]
path = "/small/e"
response_body_max = "1KiB"
[[route]]
path = "/cookies/e"
replay_headers_drop = []
[[route]]
path = "/outcome/e"
outcome = { 429 = "final", 422 = "release" }
[[route]]
path = "/json/e"
fingerprint = "json"
[[route]]
path = "/fields/e"
fingerprint = ["amount", "params.name"]
[[route]]
path = "/gzip/e"
decode = "gzip"
[[route]]
path = "/all/{method}"
methods = ["POST", "PUT", "DELETE"]
[[route]]
path = "/uuid4/e"
key_format = "uuidv4"
[[route]]
path = "/uuid7/e"
key_retention = "7d"
key_time = "uuidv7"
[[route]]
path = "/ulid/e"
key_retention = "7d"
key_time = "ulid"
[[route]]
path = "/sent/e"
key_retention = "7d"
key_time = "first-sent"
[[route]]
path = "/checked/e"
auth_check = "/_may-read"
[[route]]
path = "/checked-small/e"
auth_check = "/_may-read"
response_body_max = "0B"
[[route]]
path = "/moment/e"
retention = "400ms"
key_retention = "400ms"
[[route]]
path = "/brief-body/e"
retention = "300ms"
[[route]]
path = "/ietf/{name}"
profile = "ietf"
[[route]]
path = "/stripe/{name}"
profile = "stripe"
[[route]]
path = "/acp/{name}"
profile = "acp"
[[route]]
path = "/ucp/{name}"
profile = "ucp"
[[route]]
path = "/iceberg/{name}"
profile = "iceberg"
[[route]]
path = "/repeatable/{name}"
key_retention = "7d"
profile = "repeatable"
[[route]]
path = "/park"
lease = "2s"
on_lapsed = "park"
)";

}  // namespace

std::string config_text(const node_options& options, std::uint16_t listen, std::uint16_t admin) {
  const auto local = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
  std::string text = options.top + "listen = \"" + local(listen) + "\"\n";
  text += "admin = \"" + local(admin) + "\"\n";
  text += "upstream = \"http://" + local(options.upstream) + "\"\n";
  const std::string file = "sqlite:" + options.store.string();
  text += "[store]\nurl = \"" + (options.store_url.empty() ? file : options.store_url) + "\"\n";
  text += "timeout = \"" + options.store_timeout + "\"\n";
  text += "[scope]\n" + options.scope;
  text += "[limits]\n" + options.limits;
  text += "[log]\n" + options.log;
  // Leases shorter than the timeouts of the slow rows: the keeper must renew them.
  text += "[defaults]\nlease = \"10s\"\ntimeout = \"15s\"\n" + options.defaults;
  text += standing_routes;
  return text + options.routes;
}

node::node(std::filesystem::path program, const std::filesystem::path& directory,
           const std::string& name, const node_options& options)
    : program_(std::move(program)),
      config_(directory / (name + ".toml")),
      log_(options.keep_log ? directory / (name + ".log") : "/dev/null"),
      port_(free_port()),
      admin_(free_port()) {
  std::ofstream{config_} << config_text(options, port_, admin_);
}

bool node::ready() {
  request ask;
  ask.method = "GET";
  ask.target = "/readyz";
  return exchange(admin_, ask, std::chrono::seconds{2}).status == 200;
}

void node::start() {
  if (!process_.start({program_.string(), "serve", "--config", config_.string()}, log_)) {
    throw std::runtime_error("no process for the gateway");
  }
  const auto until = steady::now() + start_patience;
  while (process_.running()) {
    if (ready()) return;
    if (steady::now() > until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  const std::string said = log();
  throw std::runtime_error("the gateway did not become ready: " +
                           said.substr(said.size() - std::min<std::size_t>(said.size(), 500)));
}

std::string node::metrics() const {
  request ask;
  ask.method = "GET";
  ask.target = "/metrics";
  return exchange(admin_, ask, std::chrono::seconds{5}).body;
}

long node::peak_kib() const {
  std::ifstream status{"/proc/" + std::to_string(process_.id()) + "/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

void node::reload(const node_options& options) {
  std::ofstream{config_} << config_text(options, port_, admin_);
  process_.signal(SIGHUP);
}

void node::pause() {
  process_.signal(SIGSTOP);
}

void node::resume() {
  process_.signal(SIGCONT);
}

int node::stop() {
  process_.signal(SIGTERM);
  const auto code = process_.wait(std::chrono::seconds{5});
  process_.kill();
  return code.value_or(128 + SIGKILL);
}

void node::limit_file_size(bool limited) {
  // One byte rather than none: with a limit of zero some systems refuse even to truncate.
  const rlimit limit{limited ? 1 : RLIM_INFINITY, RLIM_INFINITY};
  ::prlimit(process_.id(), RLIMIT_FSIZE, &limit, nullptr);
}

void node::forbid_writes() {
  limit_file_size(true);
}

void node::allow_writes() {
  limit_file_size(false);
}

command_result node::command(const std::vector<std::string>& verb,
                             const std::vector<std::string>& arguments) {
  std::vector<std::string> whole{program_.string()};
  whole.insert(whole.end(), verb.begin(), verb.end());
  whole.insert(whole.end(), {"--config", config_.string()});
  whole.insert(whole.end(), arguments.begin(), arguments.end());
  auto output = config_;
  output.replace_extension(".said");
  std::filesystem::remove(output);
  return run_command(whole, output);
}

}  // namespace conform
