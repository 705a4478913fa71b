#pragma once

#include <callonce/testkit/store_decorator.hpp>
#include <callonce/testkit/world.hpp>

namespace callonce::testkit {

/// How often what goes wrong between a node and its store, each in percent of the operations.
struct store_faults {
  unsigned unavailable = 0;   ///< Refused at once, surely not applied.
  unsigned lost_request = 0;  ///< Never applied; the caller cannot know.
  unsigned lost_reply = 0;    ///< Applied; the caller cannot know.
  unsigned late = 0;          ///< Reported in doubt, and applied after that.
  unsigned slow = 0;          ///< Request and reply take up to `slow_max` each.
  unsigned corrupt = 0;       ///< A stored answer that cannot be read.
  std::chrono::milliseconds slow_max{2000};
  std::chrono::milliseconds late_max{3000};
  std::chrono::milliseconds timeout{1000};  ///< The store's own patience with an operation.
};

/// What all nodes that use one store have in common: its faults, and when it stands still.
class store_weather {
 public:
  store_weather(world& in, store_faults faults) : world_(in), faults_(faults) {}

  const store_faults& faults() const noexcept { return faults_; }
  /// Nothing reaches the store until then; what waits longer than the timeout was not applied.
  void stall_until(world_time end) { stalled_until_ = std::max(stalled_until_, end); }
  world_time stalled_until() const noexcept { return stalled_until_; }
  /// The faults stop: what is on its way still arrives, everything new is answered soon.
  void calm();

 private:
  world& world_;
  store_faults faults_;
  world_time stalled_until_{0};
};

/// A store at the end of an unreliable wire: delays, losses and echoes, all drawn from the world's
/// seed. A request that was sent is applied on the store's own node even if its sender has crashed.
class faulty_store final : public store_decorator {
 public:
  /// Pre: all outlive it, and it outlives the world's last step.
  faulty_store(store& inner, world& in, const store_weather& under, node& caller, node& server)
      : store_decorator(inner), world_(in), weather_(under), caller_(caller), server_(server) {}

  asio::awaitable<result<claim_reply>> claim(const claim_request& wish) override;
  asio::awaitable<result<write_reply>> renew(const fence& by) override;
  asio::awaitable<result<write_reply>> complete(
      const fence& by, std::shared_ptr<const stored_answer> answer) override;
  asio::awaitable<result<write_reply>> release(const fence& by,
                                               std::chrono::milliseconds retention) override;
  asio::awaitable<result<write_reply>> park(const fence& by) override;
  asio::awaitable<result<write_reply>> settle(const settlement& decision,
                                              const settle_reason& reason) override;
  asio::awaitable<result<record_page>> find(const record_filter& which) override;
  asio::awaitable<result<purge_reply>> purge(std::size_t limit) override;

 private:
  enum class fate { answered, unavailable, lost_request, lost_reply, late };
  template <class Reply>
  struct call;
  template <class Reply>
  using operation = std::function<asio::awaitable<result<Reply>>(store&)>;

  fate draw_fate();
  world_time draw_delay();
  template <class Reply>
  asio::awaitable<result<Reply>> send(operation<Reply> what);
  template <class Reply>
  void deliver(std::shared_ptr<call<Reply>> sent, world_time arrival);
  template <class Reply>
  asio::awaitable<void> serve(std::shared_ptr<call<Reply>> sent);

  world& world_;
  const store_weather& weather_;
  node& caller_;
  node& server_;
};

}  // namespace callonce::testkit
