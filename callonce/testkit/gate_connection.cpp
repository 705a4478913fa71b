#include <algorithm>
#include <array>
#include <cerrno>

#include <callonce/testkit/gate_connection.hpp>

namespace callonce::testkit::detail {
namespace {

// A pipe that has so much to write reads no more: the sender feels that the receiver is slow.
constexpr std::size_t waiting_bytes_max = std::size_t{64} * 1024;
// How often is asked whether the last bytes have arrived; the system tells nobody by itself.
constexpr std::chrono::milliseconds delivery_pause{1};

bool is_only_busy() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

gate_connection::gate_connection(gate_socket client, gate_state& in)
    : state_(in),
      client_(std::move(client)),
      requests_(client_, server_, in.on_request, in.counts.requests),
      replies_(server_, client_, in.on_reply, in.counts.replies) {}

bool gate_connection::reads(const pipe& of) const {
  if (!of.from.is_open() || of.at_end || is_frozen() || connecting_) return false;
  // After a cut the server is read from only to see its end.
  if (cuts_ != nullptr || lingers_) return &of == &replies_;
  return server_.is_open() && !of.flow.is_held() && of.flow.output().size() < waiting_bytes_max;
}

bool gate_connection::writes(const pipe& of) const {
  return of.to.is_open() && !of.flow.output().empty() && !is_frozen() && !connecting_;
}

short gate_connection::events(const pipe& in, const pipe& out) const {
  const int wanted = (reads(in) ? POLLIN : 0) | (writes(out) ? POLLOUT : 0);
  return static_cast<short>(wanted);
}

// A socket of which nothing is wanted is left out: an error on it would be reported forever.
pollfd gate_connection::client_interest() const {
  const short wanted = events(requests_, replies_);
  return {wanted == 0 ? -1 : client_.handle(), wanted, 0};
}

pollfd gate_connection::server_interest() const {
  const short wanted = connecting_ && !is_frozen() ? POLLOUT : events(replies_, requests_);
  return {wanted == 0 ? -1 : server_.handle(), wanted, 0};
}

std::optional<gate_time> gate_connection::due(gate_time now) const {
  if (is_frozen()) return std::nullopt;
  std::optional<gate_time> first;
  if (cuts_ != nullptr && cut_in_->flow.is_empty()) first = now + delivery_pause;
  for (const pipe* each : {&requests_, &replies_}) {
    if (!each->flow.is_held()) continue;
    first = std::min(first.value_or(gate_time::max()), each->flow.held_until());
  }
  return first;
}

void gate_connection::connect() {
  begun_ = true;
  server_ = state_.server.connect(connecting_);
  if (!server_.is_open()) reset();
}

void gate_connection::receive(short at_client, short at_server) {
  if (is_frozen()) return;
  if (connecting_ && at_server != 0) {
    connecting_ = false;
    if (server_.take_fault() != 0) return reset();
  }
  if (at_client != 0 && reads(requests_)) read(requests_);
  if (at_server != 0 && reads(replies_)) read(replies_);
}

void gate_connection::read(pipe& from) {
  std::array<char, waiting_bytes_max> bytes;
  const ssize_t count = ::recv(from.from.handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && is_only_busy()) return;
  if (count > 0) return take(from, {bytes.data(), static_cast<std::size_t>(count)});
  from.at_end = true;
  from.flow.end();
  was_reset_ = was_reset_ || count < 0;
}

void gate_connection::take(pipe& from, std::string_view bytes) {
  from.count.read += bytes.size();
  const bool is_reply = &from == &replies_;
  if (is_reply && awaits_reply_ != nullptr) {
    begin_cut(*awaits_reply_, requests_);
  } else if (!from.broken && cuts_ == nullptr && !lingers_) {
    from.flow.take(bytes);
  }
}

void gate_connection::judge(pipe& in, gate_time now) {
  while (gate_rule_state* const rule = in.flow.judge(now)) {
    if (cuts_ != nullptr || lingers_) continue;
    if (rule->action.what == gate_action::kind::lose_reply) {
      awaits_reply_ = rule;
    } else {
      begin_cut(*rule, in);
    }
  }
  if (&in == &replies_ && state_.mode == gate_mode::drop_replies && !in.flow.output().empty()) {
    lost_replies_ = true;
    in.flow.output().clear();
  }
}

void gate_connection::write(pipe& to) {
  std::string& left = to.flow.output();
  std::size_t sent = 0;
  while (writes(to) && sent < left.size()) {
    const ssize_t count =
        ::send(to.to.handle(), left.data() + sent, left.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && is_only_busy()) break;
    if (count < 0) {
      to.broken = true;
      return to.flow.drop_all();
    }
    sent += static_cast<std::size_t>(count);
    to.count.passed += static_cast<std::uint64_t>(count);
  }
  left.erase(0, sent);
}

void gate_connection::begin_cut(gate_rule_state& rule, pipe& in) {
  cuts_ = &rule;
  cut_in_ = &in;
  awaits_reply_ = nullptr;
  in.flow.end();
  if (&in == &requests_) {
    replies_.flow.drop_all();
  } else {
    requests_.flow.drop_input();
  }
}

// A reset overtakes what the client has not received yet, so that has to arrive first.
void gate_connection::finish_cut() {
  if (!cut_in_->flow.is_empty()) return;
  if (cut_in_ == &replies_ && !cut_in_->broken && !client_.is_delivered()) return;
  cuts_->done = !cut_in_->broken;
  cuts_ = nullptr;
  client_.reset();
  lingers_ = true;
}

void gate_connection::linger() {
  if (requests_.broken || replies_.at_end || !begun_) return server_.close();
  if (!requests_.flow.is_empty() || requests_.finished) return;
  server_.finish_writing();
  requests_.finished = true;
}

// Where nothing of the server arrives, its end does not either, until the client has gone.
bool gate_connection::keeps_end_secret(const pipe& of) const {
  return &of == &replies_ && state_.mode == gate_mode::drop_replies && !requests_.at_end;
}

void gate_connection::end_in_order() {
  for (pipe* each : {&requests_, &replies_}) {
    if (!each->at_end || !each->flow.is_empty() || connecting_) continue;
    if (keeps_end_secret(*each)) {
      lost_replies_ = true;
      continue;
    }
    const pipe& other = each == &requests_ ? replies_ : requests_;
    if (was_reset_ || other.broken) return reset();
    if (!each->finished) each->to.finish_writing();
    each->finished = true;
  }
  if (requests_.finished && replies_.finished) {
    client_.close();
    server_.close();
  }
}

void gate_connection::advance(gate_time now) {
  if (is_frozen() || is_over()) return;
  if (!begun_) connect();
  judge(requests_, now);
  judge(replies_, now);
  write(requests_);
  write(replies_);
  if (cuts_ != nullptr) finish_cut();
  if (lingers_) return linger();
  if (cuts_ == nullptr) end_in_order();
}

void gate_connection::reset() noexcept {
  client_.reset();
  server_.reset();
}

}  // namespace callonce::testkit::detail
