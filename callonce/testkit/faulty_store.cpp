#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <callonce/engine/event.hpp>
#include <callonce/testkit/faulty_store.hpp>

namespace callonce::testkit {
namespace {

using namespace std::chrono_literals;

// A healthy store on a healthy network.
constexpr world_time brisk_least = 50us;
constexpr world_time brisk_most = 1500us;

template <class Reply>
void stamp(Reply& reply, steady_time sent_at) {
  if constexpr (requires { reply.sent_at; }) reply.sent_at = sent_at;
}

}  // namespace

void store_weather::calm() {
  faults_ = store_faults{};
  stalled_until_ = std::min(stalled_until_, world_.now());
}

// One operation on its way. It outlives its caller: what was sent is applied.
template <class Reply>
struct faulty_store::call {
  explicit call(operation<Reply> does) : what(std::move(does)) {}
  const operation<Reply> what;
  fate ends = fate::answered;
  bool withdrawn = false;
  bool applied = false;
  std::optional<result<Reply>> reply;
  callonce::detail::event arrived;
};

faulty_store::fate faulty_store::draw_fate() {
  const store_faults& faults = weather_.faults();
  random_stream& random = world_.random();
  if (random.chance(faults.unavailable)) return fate::unavailable;
  if (random.chance(faults.lost_request)) return fate::lost_request;
  if (random.chance(faults.lost_reply)) return fate::lost_reply;
  if (random.chance(faults.late)) return fate::late;
  return fate::answered;
}

world_time faulty_store::draw_delay() {
  const store_faults& faults = weather_.faults();
  random_stream& random = world_.random();
  if (random.chance(faults.slow)) return random.between<world_time>(brisk_most, faults.slow_max);
  return random.between(brisk_least, brisk_most);
}

template <class Reply>
asio::awaitable<result<Reply>> faulty_store::send(operation<Reply> what) {
  const steady_time sent_at = caller_.now();
  const auto sent = std::make_shared<call<Reply>>(std::move(what));
  sent->ends = draw_fate();
  if (sent->ends == fate::unavailable) {
    co_await callonce::detail::sleep_until(caller_, sent_at + draw_delay());
    co_return errc::unavailable;
  }
  const store_faults& faults = weather_.faults();
  world_time arrival = world_.now() + draw_delay();
  if (sent->ends == fate::late) {
    arrival =
        world_.now() + faults.timeout + world_.random().between<world_time>(1ms, faults.late_max);
  }
  if (sent->ends != fate::lost_request) deliver(sent, arrival);

  using end = callonce::detail::event::end;
  const end how = co_await sent->arrived.wait(caller_, sent_at + faults.timeout);
  if (how != end::fired) {
    // Half of the stores can take back what was not sent yet, and so know that it was not applied.
    const bool waits = sent->ends == fate::answered && !sent->applied;
    if (waits && world_.random().below(2) == 0) {
      sent->withdrawn = true;
      co_return errc::unavailable;
    }
    co_return errc::in_doubt;
  }
  if (*sent->reply) stamp(**sent->reply, sent_at);
  co_return std::move(*sent->reply);
}

template <class Reply>
void faulty_store::deliver(std::shared_ptr<call<Reply>> sent, world_time arrival) {
  world_.at(arrival, [this, sent] {
    if (sent->withdrawn) return;
    if (weather_.stalled_until() > world_.now()) {
      deliver(sent, weather_.stalled_until());
      return;
    }
    asio::co_spawn(server_.executor(), serve(sent), asio::detached);
  });
}

template <class Reply>
asio::awaitable<void> faulty_store::serve(std::shared_ptr<call<Reply>> sent) {
  if (sent->withdrawn) co_return;
  sent->applied = true;
  sent->reply.emplace(co_await sent->what(inner()));
  if constexpr (std::is_same_v<Reply, claim_reply>) {
    result<Reply>& reply = *sent->reply;
    if (reply && reply->current.answer && world_.random().chance(weather_.faults().corrupt)) {
      reply->current.answer = nullptr;
    }
  }
  if (sent->ends == fate::answered) {
    world_.after(draw_delay(), [sent] { sent->arrived.fire(); });
  }
}

asio::awaitable<result<claim_reply>> faulty_store::claim(const claim_request& wish) {
  return send<claim_reply>([wish](store& to) { return to.claim(wish); });
}

asio::awaitable<result<write_reply>> faulty_store::renew(const fence& by) {
  return send<write_reply>([by](store& to) { return to.renew(by); });
}

asio::awaitable<result<write_reply>> faulty_store::complete(
    const fence& by, std::shared_ptr<const stored_answer> answer) {
  return send<write_reply>(
      [by, answer = std::move(answer)](store& to) { return to.complete(by, answer); });
}

asio::awaitable<result<write_reply>> faulty_store::release(const fence& by,
                                                           std::chrono::milliseconds retention) {
  return send<write_reply>([by, retention](store& to) { return to.release(by, retention); });
}

asio::awaitable<result<write_reply>> faulty_store::park(const fence& by) {
  return send<write_reply>([by](store& to) { return to.park(by); });
}

asio::awaitable<result<write_reply>> faulty_store::settle(const settlement& decision,
                                                          const settle_reason& reason) {
  return send<write_reply>([decision, reason](store& to) { return to.settle(decision, reason); });
}

asio::awaitable<result<record_page>> faulty_store::find(const record_filter& which) {
  return send<record_page>([which](store& to) { return to.find(which); });
}

asio::awaitable<result<purge_reply>> faulty_store::purge(std::size_t limit) {
  return send<purge_reply>([limit](store& to) { return to.purge(limit); });
}

}  // namespace callonce::testkit
