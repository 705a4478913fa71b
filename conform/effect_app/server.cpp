#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <conform/effect_app/answer.hpp>
#include <conform/effect_app/server.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace conform {
namespace {

// A log query waits in the server instead of being asked again and again, but never for ever.
constexpr std::chrono::milliseconds log_patience_max{20'000};

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> routes{{
    {"e", "POST"},
    {"e", "OPTIONS"},
    {"opt", "POST"},
    {"plain", "POST"},
    {"park", "POST"},
    {"q", "PATCH"},
    {"p", "PUT"},
    {"d", "DELETE"},
    {"g", "GET"},
    {"g", "HEAD"},
}};

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string parameter(std::string_view target, std::string_view name) {
  const auto query = target.find('?');
  std::string_view rest = query == std::string_view::npos ? "" : target.substr(query + 1);
  while (!rest.empty()) {
    const auto one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.substr(0, one.find('=')) == name && one.find('=') != std::string_view::npos) {
      return std::string{one.substr(one.find('=') + 1)};
    }
  }
  return {};
}

std::size_t count_parameter(std::string_view target, std::string_view name) {
  const std::string text = parameter(target, name);
  std::size_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

int refusal(std::string_view path, std::string_view method) {
  const auto last = path.substr(path.rfind('/') + 1);
  bool known = false;
  for (const auto& [name, accepted] : routes) {
    if (name == last && accepted == method) return 0;
    known = known || name == last;
  }
  return known ? 405 : 404;
}

}  // namespace

effect_server::effect_server(std::uint16_t port)
    : port_(port),
      listener_(listen_on_loopback(port_, 1024)),
      acceptor_([this] { accept_all(); }) {}

effect_server::~effect_server() {
  {
    std::unique_lock guard{mutex_};
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (const int descriptor : open_) ::shutdown(descriptor, SHUT_RDWR);
  }
  board_.close();
  acceptor_.join();
  std::unique_lock guard{mutex_};
  changed_.wait(guard, [this] { return open_.empty(); });
  ::close(listener_);
}

void effect_server::accept_all() {
  for (;;) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard guard{mutex_};
    if (stopping_) {
      if (descriptor >= 0) ::close(descriptor);
      return;
    }
    if (descriptor < 0) continue;
    open_.insert(descriptor);
    std::thread{[this, descriptor] {
      wire peer{descriptor};
      serve(peer);
      const std::lock_guard own{mutex_};
      peer.close();
      open_.erase(descriptor);
      changed_.notify_all();
    }}.detach();
  }
}

void effect_server::serve(wire& peer) {
  for (;;) {
    received request;
    if (!read_request_head(peer, request)) return;
    if (lists(request.headers, "Expect", "100-continue") &&
        !peer.write("HTTP/1.1 100 Continue\r\n\r\n")) {
      return;
    }
    if (!read_request_body(peer, request) || !answer(peer, request)) return;
    if (lists(request.headers, "Connection", "close")) return;
  }
}

bool effect_server::answer(wire& peer, received& request) {
  const std::string name = parameter(request.target, "case");
  const std::string_view path = path_of(request.target);
  try {
    if (path == "/_log") {
      const std::chrono::milliseconds patience{count_parameter(request.target, "wait_ms")};
      return answer_json(peer, 200,
                         board_.rows(name, count_parameter(request.target, "starts"),
                                     count_parameter(request.target, "ends"),
                                     std::min(patience, log_patience_max)));
    }
    if (path == "/_control") {
      board_.control(request.body);
      return answer_json(peer, 200, "{}");
    }
    // Whether a caller may still read what he once caused.
    if (path == "/_may-read") {
      const bool revoked = has(request.headers, "X-Revoked");
      return answer_json(peer, revoked ? 403 : 200, revoked ? R"({"denied":true})" : "{}");
    }
    if (const int status = refusal(path, request.method)) return answer_json(peer, status, "{}");
    // Rows about the meaning of bodies send what is no step.
    const bool is_step = !request.body.empty() && !has(request.headers, "X-Body");
    const step asked = is_step ? parse_step(request.body) : step{};
    running run{board_, name, board_.begin(name, request), request};
    const bool reusable = carry_out(peer, run.ticket.scripted.value_or(asked), run);
    board_.end(run.ticket.row, 0);
    return reusable;
  } catch (const std::invalid_argument& problem) {
    // A status that no gateway freezes, so that a slip in a row shows as what it is.
    return answer_json(peer, 500, std::string{"{\"problem\":\""} + problem.what() + "\"}");
  }
}

}  // namespace conform
