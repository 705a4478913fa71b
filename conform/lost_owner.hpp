#pragma once

#include <future>
#include <memory>

#include <conform/stalled_door.hpp>
#include <conform/trial.hpp>

namespace conform {

/// A lease of two seconds, and what a busy machine may add before somebody notices that it is over.
constexpr auto lapse_patience = 8s;

/// Two gateways of the row's own on one store: `a` to lose, `b` to go on with.
struct node_pair {
  node_pair(trial& t, const node_options& options)
      : a(t.own_node(options)), b(t.own_node(options)) {}
  explicit node_pair(trial& t) : node_pair(t, t.own_options()) {}
  std::unique_ptr<node> a;
  std::unique_ptr<node> b;
};

/// A gateway killed with its claim in the store and nothing sent to the application; `b` goes on.
struct killed_before_dispatch {
  killed_before_dispatch(trial& t, const request& sent);
  stalled_door door;
  std::unique_ptr<node> b;
};

/// Sends to `a` and lets it stand still once the run has begun: a live owner that loses its lease.
std::future<reply> stopped_owner(trial& t, const node_pair& nodes, const subject& one,
                                 const request& sent);

/// Sends in the background until the lost owner's key is taken over. Post: run `ordinal` has begun.
std::future<reply> take_over(trial& t, const subject& one, const request& sent, const node& at,
                             std::size_t ordinal);

/// Expects that the late owner's client gets the winner's answer, or learns that its claim was
/// lost.
void judge_late_owner(trial& t, const reply& late, const reply& winner);

/// Sends again while the answer is "in progress"; the first other one.
reply send_until_lapsed(const request& sent, const node& at);

/// Parks a key by killing its owner, and asks until the record says so.
void park(trial& t, const node_pair& nodes, const subject& one, const request& sent);

}  // namespace conform
