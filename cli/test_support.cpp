#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <cli/test_support.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace callonce::cli::test {
namespace {

// A sanitizer build on a busy machine; only a broken program waits so long.
constexpr int patience_ms = 60'000;

struct pipe_pair {
  std::array<int, 2> ends{};
  pipe_pair() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
};

pid_t start(const std::vector<std::string>& words, int out, int err) {
  std::vector<char*> arguments;
  std::vector<std::string> all{CALLONCE_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  for (std::string& each : all) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

bool readable(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  return ::poll(&wait, 1, patience_ms) == 1;
}

std::string read_all(int descriptor) {
  std::string all;
  std::array<char, 4096> piece;
  while (readable(descriptor)) {
    const auto count = ::read(descriptor, piece.data(), piece.size());
    if (count <= 0) break;
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
  return all;
}

int code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uint16_t port_in(const std::string& line, const std::string& member) {
  const std::size_t at = line.find("\"" + member + "\":\"");
  if (at == std::string::npos) return 0;
  const std::size_t colon = line.find(':', at + member.size() + 4);
  return static_cast<std::uint16_t>(std::strtoul(line.c_str() + colon + 1, nullptr, 10));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return made;
}

std::size_t length_in(const std::string& head) {
  for (const char* name : {"Content-Length: ", "content-length: "}) {
    const std::size_t at = head.find(name);
    if (at != std::string::npos) {
      return std::strtoul(head.c_str() + at + std::strlen(name), nullptr, 10);
    }
  }
  return 0;
}

// One message with a Content-Length, or nothing when the peer closed.
bool read_message(int descriptor, std::string& head, std::string& body) {
  std::string all;
  std::array<char, 4096> piece;
  std::size_t end = std::string::npos;
  while ((end = all.find("\r\n\r\n")) == std::string::npos ||
         all.size() < end + 4 + length_in(all.substr(0, end))) {
    if (!readable(descriptor)) return false;
    const auto count = ::read(descriptor, piece.data(), piece.size());
    if (count <= 0) return false;
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
  head = all.substr(0, end + 2);
  body = all.substr(end + 4);
  return true;
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto count = ::send(descriptor, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

}  // namespace

scratch::scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "callonce-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

scratch::~scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string scratch::file(const char* name, const std::string& text) const {
  std::ofstream{path_ / name} << text;
  return (path_ / name).string();
}

ended run(const std::vector<std::string>& words) {
  const pipe_pair out;
  const pipe_pair err;
  const pid_t child = start(words, out.ends[1], err.ends[1]);
  ::close(out.ends[1]);
  ::close(err.ends[1]);
  ended made;
  // One after the other: none of these programs fills a pipe with complaints.
  std::thread complaints{[&] { made.err = read_all(err.ends[0]); }};
  made.out = read_all(out.ends[0]);
  complaints.join();
  made.code = code_of(child);
  ::close(out.ends[0]);
  ::close(err.ends[0]);
  return made;
}

served::served(const std::vector<std::string>& words) {
  std::vector<std::string> all{"serve"};
  all.insert(all.end(), words.begin(), words.end());
  const pipe_pair out;
  process_ = start(all, out.ends[1], out.ends[1]);
  ::close(out.ends[1]);
  output_ = out.ends[0];
  const std::string line = await_line("\"event\":\"started\"");
  port_ = port_in(line, "listen");
  admin_ = port_in(line, "admin");
}

served::~served() {
  if (process_ != 0) {
    ::kill(process_, SIGKILL);
    code_of(process_);
  }
  ::close(output_);
}

void served::signal(int number) const {
  ::kill(process_, number);
}

void served::await_stopped() const {
  int status = 0;
  while (::waitpid(process_, &status, WUNTRACED) == process_ && !WIFSTOPPED(status)) {
  }
}

int served::wait() {
  log_ += read_all(output_);
  return code_of(std::exchange(process_, 0));
}

int served::stop() {
  signal(SIGTERM);
  return wait();
}

bool served::read_more() {
  std::array<char, 4096> piece;
  const auto count = readable(output_) ? ::read(output_, piece.data(), piece.size()) : 0;
  if (count > 0) log_.append(piece.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string served::await_line(const std::string& text) {
  for (;;) {
    const std::size_t found = log_.find(text, seen_);
    const std::size_t end = found == std::string::npos ? found : log_.find('\n', found);
    if (end != std::string::npos) {
      const std::size_t before = log_.rfind('\n', found);
      const std::size_t begin = before == std::string::npos ? 0 : before + 1;
      seen_ = end;
      return log_.substr(begin, end - begin);
    }
    if (!read_more()) throw std::runtime_error("no line with " + text + " in: " + log_);
  }
}

std::string served::log() {
  return log_;
}

connection::connection(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const sockaddr_in to = loopback(port);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
}

connection::connection(const std::filesystem::path& socket)
    : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, socket.c_str(), sizeof to.sun_path - 1);
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("nobody listens on " + socket.string());
  }
}

connection::~connection() {
  ::close(descriptor_);
}

void connection::send(const std::string& text) const {
  write_all(descriptor_, text);
}

reply connection::read() const {
  reply made;
  if (!read_message(descriptor_, made.head, made.body)) return made;
  made.status = static_cast<int>(std::strtol(made.head.c_str() + made.head.find(' '), nullptr, 10));
  return made;
}

std::string request_text(const std::string& method, const std::string& path, const lines& headers,
                         const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: test\r\n";
  for (const std::string& line : headers) text += line + "\r\n";
  if (method != "GET") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

reply ask(std::uint16_t port, const std::string& method, const std::string& path,
          const lines& headers, const std::string& body) {
  const connection to{port};
  to.send(request_text(method, path, headers, body));
  return to.read();
}

application::application() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    throw std::runtime_error("no port for the application");
  }
  port_ = ntohs(at.sin_port);
  threads_.emplace_back([this] { accept_all(); });
}

application::~application() {
  let_go();
  ::shutdown(listener_, SHUT_RDWR);
  threads_.front().join();
  for (const int each : descriptors_) ::shutdown(each, SHUT_RDWR);
  for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  for (const int each : descriptors_) ::close(each);
  ::close(listener_);
}

int application::calls() const {
  const std::lock_guard held{mutex_};
  return calls_;
}

void application::await_calls(int count) const {
  std::unique_lock held{mutex_};
  if (!changed_.wait_for(held, std::chrono::milliseconds{patience_ms},
                         [&] { return calls_ >= count; })) {
    throw std::runtime_error("the application was not called");
  }
}

void application::let_go() {
  const std::lock_guard held{mutex_};
  open_ = true;
  changed_.notify_all();
}

void application::accept_all() {
  for (;;) {
    const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) return;
    descriptors_.push_back(accepted);
    threads_.emplace_back([this, accepted] { serve(accepted); });
  }
}

void application::serve(int descriptor) {
  std::string head;
  std::string body;
  while (read_message(descriptor, head, body)) {
    const std::string path = head.substr(head.find(' ') + 1);
    int number = 0;
    {
      std::unique_lock held{mutex_};
      number = ++calls_;
      changed_.notify_all();
      if (path.starts_with("/hang")) changed_.wait(held, [&] { return open_; });
    }
    const std::string status = path.starts_with("/status/") ? path.substr(8, 3) : "201";
    const std::string answer = "call " + std::to_string(number);
    write_all(descriptor, "HTTP/1.1 " + status +
                              " X\r\nContent-Type: text/plain\r\nContent-Length: " +
                              std::to_string(answer.size()) + "\r\n\r\n" + answer);
  }
}

}  // namespace callonce::cli::test
