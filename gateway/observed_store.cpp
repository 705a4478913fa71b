#include <utility>

#include <gateway/observed_store.hpp>

namespace callonce::gateway {

template <class Reply>
asio::awaitable<Reply> observed_store::timed(std::string_view name,
                                             asio::awaitable<Reply> operation) {
  const steady_time began = env_.now();
  Reply reply = co_await std::move(operation);
  tell_(name, env_.now() - began);
  co_return reply;
}

asio::awaitable<result<claim_reply>> observed_store::claim(const claim_request& wish) {
  return timed("claim", store_.claim(wish));
}

asio::awaitable<result<write_reply>> observed_store::renew(const fence& by) {
  return timed("renew", store_.renew(by));
}

asio::awaitable<result<write_reply>> observed_store::complete(
    const fence& by, std::shared_ptr<const stored_answer> answer) {
  return timed("complete", store_.complete(by, std::move(answer)));
}

asio::awaitable<result<write_reply>> observed_store::release(const fence& by,
                                                             std::chrono::milliseconds retention) {
  return timed("release", store_.release(by, retention));
}

asio::awaitable<result<write_reply>> observed_store::park(const fence& by) {
  return timed("park", store_.park(by));
}

asio::awaitable<result<write_reply>> observed_store::settle(const settlement& decision,
                                                            const settle_reason& reason) {
  return timed("settle", store_.settle(decision, reason));
}

asio::awaitable<result<record_page>> observed_store::find(const record_filter& which) {
  return timed("find", store_.find(which));
}

asio::awaitable<result<purge_reply>> observed_store::purge(std::size_t limit) {
  return timed("purge", store_.purge(limit));
}

}  // namespace callonce::gateway
