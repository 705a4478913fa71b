#include <algorithm>
#include <cerrno>
#include <deque>
#include <future>
#include <list>
#include <system_error>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <callonce/testkit/gate_connection.hpp>
#include <callonce/testkit/tcp_gate.hpp>

namespace callonce::testkit {

using detail::gate_mode;

std::uint64_t gate_rule::matches() const {
  const std::lock_guard guard{state_->board->mutex};
  return state_->matches;
}

bool gate_rule::fired() const {
  const std::lock_guard guard{state_->board->mutex};
  return state_->fired;
}

bool gate_rule::done() const {
  const std::lock_guard guard{state_->board->mutex};
  return state_->done;
}

bool gate_rule::wait_fired(std::chrono::milliseconds patience) const {
  std::unique_lock held{state_->board->mutex};
  return state_->board->changed.wait_for(held, patience, [&] { return state_->fired; });
}

bool gate_rule::wait_done(std::chrono::milliseconds patience) const {
  std::unique_lock held{state_->board->mutex};
  return state_->board->changed.wait_for(held, patience, [&] { return state_->done; });
}

bool gate_rule::wait_matches(std::uint64_t count, std::chrono::milliseconds patience) const {
  std::unique_lock held{state_->board->mutex};
  return state_->board->changed.wait_for(held, patience, [&] { return state_->matches >= count; });
}

/// All sockets belong to one thread, which holds the board's mutex whenever it does not wait.
/// Callers hand it tasks, so that no socket is closed while it is waited for.
class tcp_gate::impl {
 public:
  explicit impl(detail::gate_address to)
      : state_(to),
        port_holder_(detail::bind_to_loopback(0)),
        port_(detail::port_of(port_holder_)),
        bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!bell_.is_open()) throw std::system_error{errno, std::generic_category(), "eventfd"};
    listen();
    thread_ = std::thread{[this] { run(); }};
  }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() {
    {
      const std::lock_guard guard{board_->mutex};
      stops_ = true;
    }
    ring();
    thread_.join();
  }

  std::uint16_t port() const noexcept { return port_; }
  void set(gate_mode to) {
    on_thread([this, to] { enter(to); });
  }
  void cut() {
    on_thread([this] {
      // Who has connected is present, whether or not there was time to take him in.
      accept();
      reset_all();
    });
  }
  gate_rule add(detail::gate_rules& to, std::string pattern, gate_action does, std::uint64_t skip) {
    auto made = std::make_shared<detail::gate_rule_state>(board_, std::move(pattern), does, skip);
    const std::lock_guard guard{board_->mutex};
    to.push_back(made);
    return gate_rule{std::move(made)};
  }
  detail::gate_state& state() noexcept { return state_; }
  detail::gate_board& board() const noexcept { return *board_; }

 private:
  void run();
  void work();
  void wait(std::unique_lock<std::mutex>& held);
  void on_thread(std::function<void()> what);
  void ring() const;
  void listen();
  void enter(gate_mode to);
  void accept();
  void reset_all();

  const std::shared_ptr<detail::gate_board> board_ = std::make_shared<detail::gate_board>();
  detail::gate_state state_;
  // Keeps the port this gate's while nobody listens on it.
  const detail::gate_socket port_holder_;
  const std::uint16_t port_;
  const detail::gate_socket bell_;
  detail::gate_socket listener_;
  std::list<detail::gate_connection> connections_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool stops_ = false;
  std::thread thread_;
};

void tcp_gate::impl::ring() const {
  const std::uint64_t once = 1;
  (void)!::write(bell_.handle(), &once, sizeof once);
}

void tcp_gate::impl::on_thread(std::function<void()> what) {
  std::packaged_task<void()> task{std::move(what)};
  std::future<void> done = task.get_future();
  {
    const std::lock_guard guard{board_->mutex};
    tasks_.push_back(std::move(task));
  }
  ring();
  done.get();
}

void tcp_gate::impl::listen() {
  detail::gate_socket made = detail::bind_to_loopback(port_);
  detail::listen_on(made);
  listener_ = std::move(made);
}

void tcp_gate::impl::enter(gate_mode to) {
  if (to == gate_mode::refuse) {
    listener_.close();
    reset_all();
  } else if (!listener_.is_open()) {
    listen();
  }
  if (to != gate_mode::drop_replies) {
    for (detail::gate_connection& each : connections_) {
      if (each.has_lost_replies()) each.reset();
    }
  }
  state_.mode = to;
}

void tcp_gate::impl::accept() {
  while (listener_.is_open()) {
    detail::gate_socket client = detail::accept_from(listener_);
    if (!client.is_open()) return;
    connections_.emplace_back(std::move(client), state_);
    ++state_.counts.accepted;
  }
}

void tcp_gate::impl::reset_all() {
  for (detail::gate_connection& each : connections_) each.reset();
}

void tcp_gate::impl::work() {
  for (; !tasks_.empty(); tasks_.pop_front()) tasks_.front()();
  const auto now = std::chrono::steady_clock::now();
  for (detail::gate_connection& each : connections_) each.advance(now);
  connections_.remove_if([](const detail::gate_connection& each) { return each.is_over(); });
  state_.counts.present = connections_.size();
  board_->changed.notify_all();
}

// Waits until something happens, and reads what has.
void tcp_gate::impl::wait(std::unique_lock<std::mutex>& held) {
  const auto now = std::chrono::steady_clock::now();
  std::optional<detail::gate_time> due;
  std::vector<pollfd> sockets{{bell_.handle(), POLLIN, 0}, {listener_.handle(), POLLIN, 0}};
  for (const detail::gate_connection& each : connections_) {
    sockets.push_back(each.client_interest());
    sockets.push_back(each.server_interest());
    if (const auto its = each.due(now)) due = std::min(due.value_or(*its), *its);
  }
  int patience = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now).count();
    patience = static_cast<int>(std::clamp<decltype(left)>(left, 0, 60'000));
  }
  held.unlock();
  const int happened = ::poll(sockets.data(), sockets.size(), patience);
  held.lock();
  if (happened <= 0) return;
  std::uint64_t rings = 0;
  if (sockets[0].revents != 0) (void)!::read(bell_.handle(), &rings, sizeof rings);
  std::size_t at = 2;
  for (detail::gate_connection& each : connections_) {
    each.receive(sockets[at].revents, sockets[at + 1].revents);
    at += 2;
  }
  if (sockets[1].revents != 0) accept();
}

void tcp_gate::impl::run() {
  std::unique_lock held{board_->mutex};
  while (!stops_) {
    work();
    wait(held);
  }
  connections_.clear();
}

tcp_gate::tcp_gate(std::uint16_t to_port)
    : impl_(std::make_unique<impl>(detail::gate_address{to_port})) {}

tcp_gate::tcp_gate(const std::filesystem::path& to_socket)
    : impl_(std::make_unique<impl>(detail::gate_address{to_socket})) {}

tcp_gate::~tcp_gate() = default;

std::uint16_t tcp_gate::port() const noexcept {
  return impl_->port();
}

void tcp_gate::open() {
  impl_->set(gate_mode::open);
}

void tcp_gate::refuse() {
  impl_->set(gate_mode::refuse);
}

void tcp_gate::black_hole() {
  impl_->set(gate_mode::black_hole);
}

void tcp_gate::drop_replies() {
  impl_->set(gate_mode::drop_replies);
}

void tcp_gate::cut() {
  impl_->cut();
}

gate_rule tcp_gate::on_request(std::string pattern, gate_action does, std::uint64_t skip) {
  return impl_->add(impl_->state().on_request, std::move(pattern), does, skip);
}

gate_rule tcp_gate::on_reply(std::string pattern, gate_action does, std::uint64_t skip) {
  // What a server says after its answer may never come: the answer itself is what gets lost.
  if (does.what == gate_action::kind::lose_reply) does = gate_action::cut_before();
  return impl_->add(impl_->state().on_reply, std::move(pattern), does, skip);
}

gate_counts tcp_gate::counts() const {
  const std::lock_guard guard{impl_->board().mutex};
  return impl_->state().counts;
}

bool tcp_gate::wait_counts(const std::function<bool(const gate_counts&)>& are_so,
                           std::chrono::milliseconds patience) const {
  std::unique_lock held{impl_->board().mutex};
  return impl_->board().changed.wait_for(held, patience,
                                         [&] { return are_so(impl_->state().counts); });
}

}  // namespace callonce::testkit
