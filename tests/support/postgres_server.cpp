#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tests/support/postgres_server.hpp>
#include <unistd.h>

namespace callonce::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience{60};

std::filesystem::path programs() {
  std::filesystem::path newest;
  const std::filesystem::path all{"/usr/lib/postgresql"};
  if (std::filesystem::exists(all)) {
    for (const auto& each : std::filesystem::directory_iterator{all}) {
      const auto bin = each.path() / "bin";
      if (std::filesystem::exists(bin / "initdb")) newest = std::max(newest, bin);
    }
  }
  if (newest.empty()) throw std::runtime_error{"PostgreSQL's server is not installed: ./dev setup"};
  return newest;
}

const passwd* unprivileged() {
  if (geteuid() != 0) return nullptr;
  const passwd* found = getpwnam("postgres");
  if (found == nullptr) found = getpwnam("nobody");
  if (found == nullptr) throw std::runtime_error{"no user to run PostgreSQL as"};
  return found;
}

// Starts a program as the unprivileged user, its output in `log`; it dies with this thread.
pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& log) {
  const passwd* as = unprivileged();
  std::vector<char*> arguments;
  for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const pid_t made = fork();
  if (made == 0) {
    const int into = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(into, STDOUT_FILENO);
    dup2(into, STDERR_FILENO);
    if (as != nullptr && (setgid(as->pw_gid) != 0 || setuid(as->pw_uid) != 0)) _exit(126);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    execv(arguments.front(), arguments.data());
    _exit(127);
  }
  return made;
}

int wait_for(pid_t which) {
  int status = 0;
  while (waitpid(which, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::uint16_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool bound = bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
                     getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  close(listener);
  if (!bound) throw std::runtime_error{"no free port"};
  return ntohs(at.sin_port);
}

std::string tail_of(const std::filesystem::path& log) {
  std::ifstream in{log};
  std::string all{std::istreambuf_iterator<char>{in}, {}};
  return all.size() > 1000 ? all.substr(all.size() - 1000) : all;
}

}  // namespace

postgres_server::postgres_server(const std::vector<std::string>& settings) {
  make_folder();
  initialize(settings);
  start();
}

postgres_server::postgres_server(following what) {
  make_folder();
  const auto log = folder_ / "basebackup.log";
  const pid_t made =
      start_program({programs() / "pg_basebackup", "-D", folder_ / "data", "-d", what.primary.url(),
                     "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"},
                    log);
  if (wait_for(made) != 0) throw std::runtime_error{"pg_basebackup failed: " + tail_of(log)};
  configure({});
  start();
}

void postgres_server::give(const std::filesystem::path& what) {
  const passwd* as = unprivileged();
  if (as != nullptr && chown(what.c_str(), as->pw_uid, as->pw_gid) != 0) {
    throw std::runtime_error{"chown " + what.string()};
  }
}

void postgres_server::make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "callonce-pg-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
  folder_ = name;
  give(folder_);
  std::filesystem::permissions(folder_, std::filesystem::perms{0755});
}

postgres_server::~postgres_server() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

postgres_server& postgres_server::shared() {
  static postgres_server one;
  return one;
}

void postgres_server::initialize(const std::vector<std::string>& settings) {
  const auto log = folder_ / "initdb.log";
  const pid_t made = start_program({programs() / "initdb", "-D", folder_ / "data", "-A", "trust",
                                    "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"},
                                   log);
  if (wait_for(made) != 0) throw std::runtime_error{"initdb failed: " + tail_of(log)};
  configure(settings);
}

void postgres_server::configure(const std::vector<std::string>& settings) {
  std::ofstream more{folder_ / "data" / "postgresql.conf", std::ios::app};
  more << "listen_addresses = '127.0.0.1'\n"
       << "unix_socket_directories = '" << folder_.string() << "'\n"
       << "shared_buffers = '64MB'\nmax_connections = 200\nlog_line_prefix = '%m [%p] '\n";
  for (const std::string& each : settings) more << each << '\n';
}

// A new one gives up while the memory of a killed one is in use, or its port taken; and there is no
// event for its being ready that one could wait for.
void postgres_server::start() {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(10ms)) {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      if (!was_up_) port_ = 0;
    }
    if (port_ == 0) port_ = free_port();
    if (pid_ <= 0) {
      pid_ = start_program(
          {programs() / "postgres", "-D", folder_ / "data", "-p", std::to_string(port_)},
          folder_ / "server.log");
    }
    if (PQping(url().c_str()) != PQPING_OK) continue;
    was_up_ = true;
    return;
  }
  throw std::runtime_error{"PostgreSQL does not start: " + tail_of(folder_ / "server.log")};
}

std::string postgres_server::url_at(std::uint16_t port, const std::string& database) {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/" + database;
}

std::string postgres_server::url(const std::string& database) const {
  return url_at(port_, database);
}

std::string postgres_server::socket_url(const std::string& database) const {
  return "host=" + folder_.string() + " port=" + std::to_string(port_) +
         " user=postgres dbname=" + database;
}

std::string postgres_server::new_database(const std::string& from) {
  const std::string name = "test_" + std::to_string(++databases_);
  postgres_client over{url()};
  over.ask("create database " + name + (from.empty() ? "" : " template " + from));
  return name;
}

// Each of its children is in a session of its own.
void postgres_server::kill() {
  if (pid_ <= 0) return;
  const std::string name = std::to_string(pid_);
  ::kill(pid_, SIGSTOP);
  std::ifstream children{"/proc/" + name + "/task/" + name + "/children"};
  for (pid_t each = 0; children >> each;) ::kill(each, SIGKILL);
  ::kill(pid_, SIGKILL);
  wait_for(pid_);
  pid_ = -1;
}

void postgres_server::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGINT);
  wait_for(pid_);
  pid_ = -1;
}

postgres_client::postgres_client(const std::string& url) : over_(PQconnectdb(url.c_str())) {
  if (PQstatus(over_) == CONNECTION_OK) return;
  const std::string why = PQerrorMessage(over_);
  PQfinish(over_);
  throw std::runtime_error{why};
}

postgres_client::~postgres_client() {
  PQfinish(over_);
}

std::vector<std::string> postgres_client::ask(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> said{PQexec(over_, sql.c_str()), &PQclear};
  const ExecStatusType status = PQresultStatus(said.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
    const char* code = PQresultErrorField(said.get(), PG_DIAG_SQLSTATE);
    throw std::runtime_error{std::string{code != nullptr ? code : "lost"} + ": " +
                             PQerrorMessage(over_)};
  }
  tag_ = PQcmdStatus(said.get());
  std::vector<std::string> rows;
  for (int row = 0; row < PQntuples(said.get()); ++row) {
    rows.emplace_back(PQgetvalue(said.get(), row, 0));
  }
  return rows;
}

std::string postgres_client::attempt(const std::string& sql) {
  try {
    ask(sql);
    return "00000";
  } catch (const std::runtime_error& wrong) {
    const std::string why = wrong.what();
    return why.substr(0, why.find(':'));
  }
}

}  // namespace callonce::tests
