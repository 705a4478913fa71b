#include <callonce/engine/body_source.hpp>

namespace callonce::detail {

asio::awaitable<collected> collect(answer& given, std::uint64_t bytes_max) {
  std::string held{given.head.body_text()};
  header_list trailers = given.head.trailers();
  collected how = collected::beyond;
  while (held.size() <= bytes_max) {
    const result<std::span<const std::byte>> piece = co_await given.rest->next();
    if (!piece) {
      how = collected::broken;
      break;
    }
    if (piece->empty()) {
      how = collected::whole;
      trailers = given.rest->trailers();
      break;
    }
    held += text_of(*piece);
  }
  if (how != collected::beyond) given.rest.reset();
  given.head = response{given.head.status(), given.head.headers(), body_bytes{std::move(held)}};
  given.head.trailers() = std::move(trailers);
  co_return how;
}

asio::awaitable<void> exhaust(body_source& source) {
  for (;;) {
    const result<std::span<const std::byte>> piece = co_await source.next();
    if (!piece || piece->empty()) co_return;
  }
}

class watched_source::side final : public body_source {
 public:
  explicit side(std::shared_ptr<watched_source> shared) : shared_(std::move(shared)) {}
  ~side() override { shared_->let_go.fire(); }

  asio::awaitable<result<std::span<const std::byte>>> next() override {
    result<std::span<const std::byte>> piece = co_await shared_->inner_->next();
    if (!piece || piece->empty()) {
      shared_->at_end_ = true;
      shared_->let_go.fire();
    }
    co_return piece;
  }
  header_list trailers() override { return shared_->inner_->trailers(); }

 private:
  std::shared_ptr<watched_source> shared_;
};

std::unique_ptr<body_source> watched_source::side_of(std::shared_ptr<watched_source> shared) {
  return std::make_unique<side>(std::move(shared));
}

}  // namespace callonce::detail
