#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include <callonce/core/policy.hpp>
#include <callonce/engine/answer.hpp>
#include <callonce/engine/environment.hpp>
#include <callonce/engine/observer.hpp>
#include <callonce/engine/store.hpp>

namespace callonce {

/// What one engine may hold at once; beyond it new requests are refused, never run unprotected.
struct engine_limits {
  std::size_t wait_slots = 1000;     ///< Duplicates that wait for a running attempt.
  std::size_t detached_slots = 256;  ///< Runs whose client is gone.
  /// Answers kept in memory because the store did not take their completion.
  std::size_t unrecorded_max = 1000;
  /// Bytes of finished answers remembered for a moment, so that a storm's tail asks no store.
  std::size_t finished_bytes_max = std::size_t{32} << 20;
  /// How long a completion, release or park is tried before its client is answered without it.
  std::chrono::milliseconds store_patience{std::chrono::seconds{5}};
};

class engine;

/// Asked before a replay is given out, with the retry's own credentials: an answer of its own takes
/// the replay's place, so that a revoked caller reads nothing. Source: D-61, A-03.
using replay_check = std::function<asio::awaitable<std::optional<response>>(const request&)>;

/// Passes an interim answer on to a client.
using interim_sink = std::function<asio::awaitable<void>(const response&)>;

/// What a connection knows of the client that asks.
struct client_side {
  client_side() = default;
  client_side(std::stop_token on_leaving, interim_sink to = {})  // implicit: most know no more
      : left(std::move(on_leaving)), tell(std::move(to)) {}

  /// Requested when the client hangs up: a waiting duplicate gives its slot back, a running attempt
  /// goes on without it.
  std::stop_token left;
  interim_sink tell;  ///< Empty: interim answers are dropped.
};

/// One protected operation: policy and handler, built once, answering many requests.
/// Threads: as its engine.
class route {
 public:
  /// Pre: `over` outlives the route and all its answers.
  /// Errors: throws std::invalid_argument when the policy is not usable.
  route(engine& over, policy by, handler does, replay_check before_replay = {});
  ~route();
  route(const route&) = delete;
  route& operator=(const route&) = delete;

  const callonce::policy& policy() const noexcept { return *policy_; }

  /// What the head of a request decides; see `callonce::admit`.
  std::variant<pass_through, problem, identity> admit(const request& head) const;

  /// Answers a whole request: admission, claim, handler or replay.
  [[nodiscard]] asio::awaitable<callonce::answer> answer(request asked, client_side client = {});
  /// The same for a request that was admitted under `as` before its body was read.
  [[nodiscard]] asio::awaitable<callonce::answer> answer(identity as, request asked,
                                                         client_side client = {});
  /// Reports that the answer for `id` was handed to the connection whole.
  void sent(const identity& id, int status) const;
  /// The answer for a problem of the request `head`, in this route's form; reported to the
  /// observer.
  response refuse(const problem& why, const request& head, const identity* id = nullptr) const;

 private:
  friend class blocking_call;
  asio::awaitable<callonce::answer> answer_with(std::shared_ptr<const handler> work, bool bounded,
                                                request asked, client_side client);
  asio::awaitable<callonce::answer> answer_as(std::shared_ptr<const handler> work, bool bounded,
                                              identity as, request asked, client_side client);

  engine& engine_;
  std::shared_ptr<const callonce::policy> policy_;
  std::shared_ptr<const handler> handler_;
  std::shared_ptr<const replay_check> check_;
};

/// Runs every key at most once at a time and gives all others the first answer.
/// Threads: all calls on one executor that runs one handler at a time (an io_context run by one
/// thread, or a strand). For more threads use one engine each over the same store; for threads that
/// block, `blocking::route`.
class engine {
 public:
  /// Pre: store, environment and observer outlive the engine, and the executor has no run left when
  /// it goes.
  explicit engine(store& over, environment& in = system_environment(), observer* tell = nullptr,
                  engine_limits limits = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Refuses new runs from now on.
  void drain();
  /// Waits until no run is left. Pre: `drain` was called.
  /// Post: false when `deadline` came first; the leases of what is left stay.
  [[nodiscard]] asio::awaitable<bool> drained(steady_time deadline);

  std::size_t runs() const noexcept;
  std::size_t waiters() const noexcept;
  std::size_t detached() const noexcept;

  class state;  ///< The run table and what runs share; private to the engine's own sources.
  state& shared() noexcept { return *state_; }

 private:
  std::shared_ptr<state> state_;
};

}  // namespace callonce
