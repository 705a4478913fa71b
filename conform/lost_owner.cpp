#include <thread>

#include <conform/lost_owner.hpp>

namespace conform {

killed_before_dispatch::killed_before_dispatch(trial& t, const request& sent) {
  node_options options = t.own_options();
  b = t.own_node(options);
  options.upstream = door.port();
  options.limits = "connect_timeout = \"20s\"\n";
  const auto a = t.own_node(options);
  auto lost = trial::start(sent, *a);
  // Once its claim stands, another request on the same gateway is told to come back. Only the
  // gateway's own word would say when; asking it too early would make the asker the owner.
  std::this_thread::sleep_for(200ms);
  t.problem(trial::send(sent, *a), 409, "idempotency_key_in_progress");
  a->kill();
  t.expect(!lost.get().complete, "the owner's client gets no answer");
}

std::future<reply> stopped_owner(trial& t, const node_pair& nodes, const subject& one,
                                 const request& sent) {
  auto owner = trial::start(sent, *nodes.a);
  t.await_runs(one, 1);
  nodes.a->pause();
  return owner;
}

std::future<reply> take_over(trial& t, const subject& one, const request& sent, const node& at,
                             std::size_t ordinal) {
  auto taking = std::async(std::launch::async, [&at, sent] {
    return trial::send_until_settled(sent, at, lapse_patience);
  });
  t.await_runs(one, ordinal);
  return taking;
}

void judge_late_owner(trial& t, const reply& late, const reply& winner) {
  if (late.status == 409) {
    t.problem(late, 409, "idempotency_claim_lost");
  } else {
    t.replay_of(late, winner);
  }
}

reply send_until_lapsed(const request& sent, const node& at) {
  const auto until = steady::now() + lapse_patience;
  for (;;) {
    reply seen = trial::send(sent, at);
    if (json_member(seen.body, "code") != "idempotency_key_in_progress" || steady::now() > until) {
      return seen;
    }
    std::this_thread::sleep_for(100ms);
  }
}

void park(trial& t, const node_pair& nodes, const subject& one, const request& sent) {
  auto lost = trial::start(sent, *nodes.a);
  t.await_runs(one, 1);
  nodes.a->kill();
  lost.get();
  t.problem(send_until_lapsed(sent, *nodes.b), 409, "idempotency_outcome_unknown");
}

}  // namespace conform
