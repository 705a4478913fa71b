#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <callonce/core/transition.hpp>

namespace callonce {

/// A won claim, as the handler sees it. Made by the engine alone; valid until the handler has
/// ended.
class claim {
 public:
  claim(const claim&) = delete;
  claim& operator=(const claim&) = delete;

  /// Whether this run is protected; false where an optional key was not sent.
  bool is_protected() const noexcept { return fence_.attempt != 0; }
  const callonce::key& key() const noexcept { return fence_.id.key(); }
  const identity& id() const noexcept { return fence_.id; }
  /// 1 for the first attempt; 0 where the run is not protected.
  std::uint32_t attempt() const noexcept { return fence_.attempt; }
  const fence& fenced_by() const noexcept { return fence_; }
  /// The opaque text that names exactly this claim, for the application's own transaction.
  std::string handle() const;
  /// A key for one downstream system: equal over all attempts, different for each scope, key and
  /// name. Source: I20, L-18, C100.
  std::string downstream_key(std::string_view name) const;
  /// Requested when another claim has won, or nobody waits for this run any more: stop if you can.
  std::stop_token lost() const noexcept { return lost_; }

 private:
  friend class engine;
  friend class route;
  claim() = default;
  claim(fence by, std::stop_token lost) : fence_(std::move(by)), lost_(std::move(lost)) {}

  fence fence_;
  std::stop_token lost_;
};

}  // namespace callonce
