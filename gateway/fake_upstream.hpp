#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gateway/upstream.hpp>

#include <callonce/engine/event.hpp>

namespace callonce::gateway {

/// A body in the pieces it is given; may end in a cut.
class body_in_pieces final : public body_source {
 public:
  explicit body_in_pieces(std::vector<std::string> all, bool cut = false)
      : all_(std::move(all)), cut_(cut) {}
  asio::awaitable<result<std::span<const std::byte>>> next() override {
    if (at_ == all_.size()) {
      if (cut_) co_return make_error_code(errc::in_doubt);
      co_return std::span<const std::byte>{};
    }
    const std::string& piece = all_[at_++];
    co_return std::as_bytes(std::span{piece.data(), piece.size()});
  }

 private:
  std::vector<std::string> all_;
  bool cut_;
  std::size_t at_ = 0;
};

/// An application that answers in turn what it was told to, and remembers what it was asked.
class fake_upstream final : public upstream {
 public:
  void will_answer(response said) {
    will_.push_back([said = std::move(said)] { return upstream_answer{answer{said}}; });
  }
  void will_answer(response said, std::vector<std::string> pieces, bool cut) {
    will_.push_back([said = std::move(said), pieces = std::move(pieces), cut] {
      return upstream_answer{answer{said, std::make_unique<body_in_pieces>(pieces, cut)}};
    });
  }
  void will_fail(upstream_fault how) {
    will_.push_back([how] { return how; });
  }
  /// Answers 101 with `stream` as the connection. Pre: used once.
  void will_switch(response said, std::unique_ptr<byte_stream> stream) {
    tunnel_ = std::move(stream);
    will_.push_back([this, said = std::move(said)] {
      upstream_answer made{answer{said}};
      made.tunnel = std::move(tunnel_);
      return made;
    });
  }
  /// Answers nothing until it is cancelled.
  void will_hang() { will_.push_back({}); }
  /// Gives an interim answer before its next answer.
  void will_hint(response said) { hints_.push_back(std::move(said)); }

  asio::awaitable<std::variant<upstream_answer, upstream_fault>> send(
      const request& asked, body_source* streamed, const interim& on_interim,
      std::stop_token cancel) override {
    seen.push_back(asked);
    if (will_.empty()) throw std::runtime_error("one request too many");
    const std::function<outcome()> next = std::move(will_.front());
    will_.pop_front();
    std::string body;
    while (streamed != nullptr) {
      const auto piece = co_await streamed->next();
      if (!piece) co_return upstream_fault::broken;
      if (piece->empty()) break;
      body.append(reinterpret_cast<const char*>(piece->data()), piece->size());
    }
    bodies.push_back(std::move(body));
    for (const response& hint : hints_) {
      if (on_interim) co_await on_interim(hint);
    }
    hints_.clear();
    if (next) co_return next();
    detail::event never;
    co_await never.wait(system_environment(), steady_time::max(), cancel);
    was_cancelled = true;
    co_return upstream_fault::broken;
  }

  std::vector<request> seen;
  std::vector<std::string> bodies;  ///< What was streamed, one for each request.
  bool was_cancelled = false;

 private:
  using outcome = std::variant<upstream_answer, upstream_fault>;
  std::deque<std::function<outcome()>> will_;
  std::vector<response> hints_;
  std::unique_ptr<byte_stream> tunnel_;
};

}  // namespace callonce::gateway
