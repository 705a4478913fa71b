// The application of the crash matrix: makes an order and completes its key in one transaction, and
// dies, lies or hangs at the steps that a request names in X-Do. A parent holds the listener and
// puts a new child in the place of one that died; SIGUSR1 to it kills the child.
//
//   shop-app URL

#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct request {
  std::map<std::string, std::string> headers;
  std::string body;
};

std::string header(const request& of, const std::string& name) {
  const auto found = of.headers.find(name);
  return found == of.headers.end() ? std::string{} : found->second;
}

bool read_request(int from, request& into) {
  std::string text;
  std::array<char, 4096> some{};
  const auto more = [&] {
    const ssize_t got = read(from, some.data(), some.size());
    if (got > 0) text.append(some.data(), static_cast<std::size_t>(got));
    return got > 0;
  };
  std::size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  for (std::size_t at = text.find("\r\n") + 2; at < end;) {
    const std::size_t line_end = text.find("\r\n", at);
    const std::size_t colon = text.find(": ", at);
    into.headers[text.substr(at, colon - at)] = text.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  const std::size_t length = std::strtoul(header(into, "Content-Length").c_str(), nullptr, 10);
  while (text.size() < end + 4 + length) {
    if (!more()) return false;
  }
  into.body = text.substr(end + 4, length);
  return true;
}

void answer(int to, int status, const std::string& body) {
  const std::string text =
      "HTTP/1.1 " + std::to_string(status) +
      " -\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\nConnection: close\r\n\r\n" + body;
  if (write(to, text.data(), text.size()) < 0) _exit(3);
}

class database {
 public:
  explicit database(const char* url) : over_(PQconnectdb(url)) {}
  ~database() { PQfinish(over_); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  // Post: the SQLSTATE, empty for success, `lost` without one; `first` is the first value.
  std::string ask(const std::string& sql, std::initializer_list<std::string> with = {}) {
    std::array<const char*, 4> values{};
    int count = 0;
    for (const std::string& each : with) values[static_cast<std::size_t>(count++)] = each.c_str();
    PGresult* said =
        PQexecParams(over_, sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0);
    const ExecStatusType status = PQresultStatus(said);
    const char* code = PQresultErrorField(said, PG_DIAG_SQLSTATE);
    std::string fault;
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      fault = code != nullptr ? code : "lost";
    }
    first = PQntuples(said) > 0 ? PQgetvalue(said, 0, 0) : "";
    tag = PQcmdStatus(said);
    PQclear(said);
    return fault;
  }
  void send_and_die(const char* sql) {
    PQsendQuery(over_, sql);
    PQflush(over_);
    _exit(9);
  }

  std::string first;
  std::string tag;

 private:
  PGconn* over_;
};

// What a request asks for, words between blanks.
class script {
 public:
  explicit script(const std::string& words) : words_(" " + words + " ") {}
  bool has(const std::string& word) const {
    return words_.find(" " + word + " ") != std::string::npos;
  }
  void die_if(const char* here) const {
    if (has(here)) _exit(9);
  }

 private:
  std::string words_;
};

void serve(int client, const char* url) {
  request asked;
  if (!read_request(client, asked)) return;
  const script step{header(asked, "X-Do")};
  const std::string claim = header(asked, "Idempotency-Claim");
  const std::string key = header(asked, "Idempotency-Key");
  step.die_if("die-before");
  database over{url};
  const auto refuse = [&](const std::string& why) { answer(client, 503, why); };

  if (std::string fault = over.ask("begin"); !fault.empty()) return refuse(fault);
  if (!step.has("no-hold")) {
    if (const std::string fault = over.ask("select callonce.hold($1)", {claim}); !fault.empty()) {
      return refuse(fault);
    }
  }
  step.die_if("die-after-hold");
  if (step.has("hang")) pause();
  if (const std::string fault = over.ask(
          "insert into orders (key, note) values ($1, $2) returning id", {key, asked.body});
      !fault.empty()) {
    return refuse(fault);
  }
  const std::string body = "order " + over.first;
  step.die_if("die-after-effect");
  if (step.has("fail")) return answer(client, 500, "before the commit");
  if (step.has("slow")) over.ask("select pg_sleep(3)");
  if (const std::string fault =
          over.ask("select callonce.complete($1, 201, '[[\"Content-Type\",\"text/plain\"]]', $2)",
                   {claim, body});
      !fault.empty()) {
    return refuse(fault);
  }
  step.die_if("die-after-complete");
  if (step.has("die-committing")) over.send_and_die("select pg_sleep(0.3); commit");
  const std::string fault = over.ask("commit");
  if (!fault.empty() || over.tag != "COMMIT") return refuse(fault + over.tag);
  step.die_if("die-after-commit");
  if (step.has("500-after-commit")) return answer(client, 500, "after the commit");
  if (step.has("502-after-commit")) return answer(client, 502, "of a proxy in between");
  if (step.has("lie-after-commit")) return answer(client, 201, "something else");
  if (step.has("hang-after-commit")) pause();
  if (step.has("cut-after-commit")) {
    const std::string part = "HTTP/1.1 201 -\r\nContent-Length: 1000\r\n\r\nord";
    if (write(client, part.data(), part.size()) < 0) _exit(3);
    return;
  }
  answer(client, 201, body);
}

[[noreturn]] void work(int listener, const char* url) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const int client = accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    std::thread{[client, url] {
      serve(client, url);
      close(client);
    }}.detach();
  }
}

pid_t child = -1;

void kill_child(int) {
  if (child > 0) kill(child, SIGKILL);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
      listen(listener, 512) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGUSR1, kill_child);
  std::cout << "listening on 127.0.0.1:" << ntohs(at.sin_port) << std::endl;
  for (;;) {
    child = fork();
    if (child == 0) {
      std::signal(SIGUSR1, SIG_DFL);
      std::signal(SIGPIPE, SIG_IGN);
      work(listener, words[1]);
    }
    while (waitpid(child, nullptr, 0) < 0) {
    }
  }
}
