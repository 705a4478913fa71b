#include <ctime>
#include <iterator>
#include <utility>
#include <vector>

#include <poll.h>

#include <callonce/adapters/beast/connection.hpp>
#include <callonce/adapters/beast/server.hpp>
#include <callonce/adapters/beast/server_state.hpp>

namespace callonce::beast {
namespace {

// Short beside every limit, long beside a request.
constexpr std::chrono::milliseconds tick_length{250};

std::string date_line_of(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char rest[48];
  std::string line = std::string{"Date: "} + days[parts.tm_wday];
  line.append(rest, std::strftime(rest, sizeof rest, ", %d ", &parts));
  line += months[parts.tm_mon];
  line.append(rest, std::strftime(rest, sizeof rest, " %Y %H:%M:%S GMT\r\n", &parts));
  return line;
}

asio::awaitable<void> run(std::shared_ptr<detail::connection> one) {
  co_await one->run();
}

}  // namespace

server::state::state(service does, server_limits may, environment& where)
    : answers(std::move(does)),
      limits(std::move(may)),
      in(where),
      budget(std::make_shared<detail::body_budget>(limits.buffered_bytes_max)) {}

std::list<detail::connection*>::iterator server::state::enter(detail::connection* one,
                                                              const asio::any_io_executor& on) {
  if (clock_ == nullptr) {
    date_line = date_line_of(in.wall());
    start_clock(on);
  }
  return open.insert(open.end(), one);
}

void server::state::leave(std::list<detail::connection*>::iterator place) {
  open.erase(place);
  if (!open.empty()) return;
  clock_.reset();
  if (draining) empty.fire();
}

void server::state::start_clock(const asio::any_io_executor& on) {
  clock_ = in.call_at(on, in.now() + tick_length, [weak = weak_from_this(), on] {
    if (const std::shared_ptr<state> alive = weak.lock()) alive->tick(on);
  });
}

void server::state::tick(const asio::any_io_executor& on) {
  const std::unique_ptr<alarm> rung = std::move(clock_);  // it is this very call, and owns `on`
  date_line = date_line_of(in.wall());
  const steady_time now = in.now();
  for (detail::connection* const one : open) one->check_deadline(now);
  find_who_left();
  if (!open.empty()) start_clock(on);
}

// One look at all whose service wants to know: cheaper than a wait armed for each request.
void server::state::find_who_left() {
  std::vector<pollfd> looked_at;
  std::vector<std::shared_ptr<detail::connection>> asked;
  for (detail::connection* const one : open) {
    if (!one->wants_to_know_if_left()) continue;
    looked_at.push_back(pollfd{one->native_handle(), POLLRDHUP, 0});
    asked.push_back(one->shared_from_this());
  }
  if (asked.empty() || ::poll(looked_at.data(), looked_at.size(), 0) <= 0) return;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    if (looked_at[at].revents != 0) asked[at]->tell_left();
  }
}

void server::state::drain() {
  draining = true;
  for (detail::connection* const one : open) one->drain();
}

void server::state::close() {
  draining = true;
  for (detail::connection* const one : open) one->cut();
}

server::server(service answers, server_limits limits, environment& in)
    : state_(std::make_shared<state>(std::move(answers), std::move(limits), in)) {}

server::~server() = default;

asio::awaitable<void> server::serve(asio::generic::stream_protocol::socket connection) {
  return run(std::make_shared<detail::connection>(std::move(connection), state_));
}

std::size_t server::connections() const noexcept {
  return state_->open.size();
}

void server::drain() {
  state_->drain();
}

asio::awaitable<bool> server::drained(steady_time deadline) {
  const std::shared_ptr<state> shared = state_;
  if (shared->open.empty()) co_return true;
  const auto how = co_await shared->empty.wait(shared->in, deadline);
  co_return how == callonce::detail::event::end::fired;
}

void server::close() {
  state_->close();
}

}  // namespace callonce::beast
