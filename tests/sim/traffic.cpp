#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <callonce/core/policy.hpp>
#include <callonce/core/replay.hpp>

#include "tests/sim/exchange.hpp"
#include "tests/sim/simulation.hpp"

namespace callonce::sim {
namespace {

using namespace std::chrono_literals;
using end = detail::event::end;

// Far longer than any request may take, pauses and stalls included.
constexpr world_time client_patience = 60s;

// Whether a client has nothing more to hope for from asking again.
bool is_settled(const response& answer) {
  if (answer.headers().find(replayed_field) != nullptr) return true;
  if (answer.status() >= 500 || answer.headers().find("Retry-After") != nullptr) return false;
  return true;
}

}  // namespace

simulation::customer simulation::draw_customer() {
  return customers_[world_.random().below(customers_.size())];
}

identity simulation::identify(const customer& of) const {
  return identity{scenario_.policy.scope->hash(of.tenant), key{of.key}};
}

std::shared_ptr<exchange> simulation::make_exchange(const customer& by, bool other_payload) {
  auto made = std::make_shared<exchange>();
  made->as.number = ++exchanges_;
  header_list headers;
  headers.add("X-Account", by.tenant);
  headers.add("Idempotency-Key", by.key);
  headers.add("X-Exchange", std::to_string(made->as.number));
  made->what = request{"POST", "/charges", std::move(headers),
                       std::string{other_payload ? "amount=2" : "amount=1"}};
  made->as.id = identify(by);
  made->as.wants = *fingerprint_of(made->what, fingerprint_rule{});
  made->as.at = world_.now();
  return made;
}

// Whatever becomes of the one who serves it, the client learns that the connection has ended.
struct simulation::connection {
  connection(simulation& where, server& to, std::shared_ptr<exchange> of)
      : in(where), at(to), asked(std::move(of)) {
    ++at.open;
  }
  ~connection() {
    --at.open;
    in.arrive(asked);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  simulation& in;
  server& at;
  const std::shared_ptr<exchange> asked;
};

void simulation::send(const std::shared_ptr<exchange>& asked) {
  server& chosen = *servers_[world_.random().below(servers_.size())];
  world_.after(world_.random().between<world_time>(10us, 2ms), [this, asked, &chosen] {
    auto accepted = std::make_shared<connection>(*this, chosen, asked);
    if (!chosen.up()) return;
    asio::co_spawn(chosen.machine->executor(), serve(std::move(accepted)), asio::detached);
  });
}

// News travels to the client; nothing in `got` says that the connection broke.
void simulation::arrive(const std::shared_ptr<exchange>& answered) {
  const bool lost = !trouble_over_ && world_.random().chance(scenario_.lost_answers);
  if (lost) answered->got.reset();
  world_.after(world_.random().between<world_time>(10us, 2ms),
               [answered] { answered->arrived.fire(); });
}

asio::awaitable<void> simulation::serve(std::shared_ptr<connection> over) {
  const std::shared_ptr<exchange> asked = over->asked;
  request what = asked->what;
  answer given = co_await over->at.charges->answer(std::move(what), asked->left.get_token());
  checker_.told(asked->as, given.head, given.rest == nullptr);
  check_punctual(*asked, given.head);
  bool whole = true;
  if (given.rest) {
    std::string body{given.head.body_text()};
    for (;;) {
      const result<std::span<const std::byte>> piece = co_await given.rest->next();
      whole = piece.has_value();
      if (!piece || piece->empty()) break;
      body += text_of(*piece);
      if (asked->gone) {
        whole = false;
        break;
      }
    }
    given.rest.reset();
    given.head = response{given.head.status(), given.head.headers(), std::move(body)};
    checker_.told(asked->as, given.head, whole);
  }
  asked->got = std::move(given.head);
}

// Where nothing fails, deadlines are kept: `wait` by duplicates, `timeout` by the first (I14,
// C-05).
void simulation::check_punctual(const exchange& told, const response& answer) {
  if (scenario_.name != "calm" || trouble_over_) return;
  constexpr world_time slack = 100ms;
  const policy_settings& is = scenario_.policy;
  const world_time took = world_.now() - told.as.at;
  const bool in_progress = answer.body_text().find("key_in_progress") != std::string_view::npos;
  if (in_progress && took > is.wait + slack) {
    checker_.broken(&told.as.id, "a duplicate waited for longer than it may");
  }
  // An atomic attempt without an answer is read back before its client hears of that.
  const world_time readback = is.effects == effect_class::atomic ? is.readback : 0ms;
  if (took > is.wait + is.timeout + readback + slack) {
    checker_.broken(&told.as.id, "a request took longer than wait and timeout");
  }
}

asio::awaitable<void> simulation::client() {
  random_stream& random = world_.random();
  const customer self = draw_customer();
  const auto tries = 1 + random.below(scenario_.tries_max);
  for (std::uint64_t each = 0; each < tries; ++each) {
    const world_time pause = random.between<world_time>(0ms, scenario_.pause_max);
    co_await detail::sleep_until(outside_, outside_.now() + pause);
    const auto asked = make_exchange(self, random.chance(scenario_.mismatching));
    const bool leaves = random.chance(scenario_.hang_ups);
    const world_time patience =
        leaves ? random.between<world_time>(1ms, 2 * scenario_.policy.lease) : client_patience;
    send(asked);
    const end how = co_await asked->arrived.wait(outside_, outside_.now() + patience);
    if (how == end::deadline) {
      if (!leaves) checker_.broken(&asked->as.id, "a request was never answered");
      world_.after(random.between<world_time>(10us, 2ms), [asked] {
        asked->gone = true;
        asked->left.request_stop();
      });
    } else if (asked->got && is_settled(*asked->got) && random.chance(40)) {
      break;
    }
  }
  --clients_left_;
}

// A client that comes back after all trouble, until it is told something final.
asio::awaitable<void> simulation::probe(customer of) {
  for (;;) {
    const auto asked = make_exchange(of, false);
    send(asked);
    co_await asked->arrived.wait(outside_, outside_.now() + client_patience);
    if (asked->got && is_settled(*asked->got)) break;
    co_await detail::sleep_until(outside_, outside_.now() + 300ms);
  }
  --probes_left_;
}

}  // namespace callonce::sim
