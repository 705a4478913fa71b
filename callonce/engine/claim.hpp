#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <callonce/core/policy.hpp>
#include <callonce/core/transition.hpp>

namespace callonce {

/// The opaque text that names exactly the claim behind this fence: base64url, without padding, of
/// the key's index (16 bytes), the attempt (4, the highest first) and the claim_id (16).
std::string handle_of(const fence& by);

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
  std::string handle() const { return handle_of(fence_); }
  /// A key for one downstream system: equal over all attempts, different for each scope, key and
  /// name. Source: I20, L-18, C100.
  std::string downstream_key(std::string_view name) const;
  /// What the record keeps of this answer, by the route's policy: for a transaction of the
  /// handler's own that completes it. Pre: `is_protected()`.
  stored_answer frozen(const response& answer) const;
  /// Requested when another claim has won, or nobody waits for this run any more: stop if you can.
  std::stop_token lost() const noexcept { return lost_; }
  /// Passes an interim answer (1xx) on to the client of this attempt, if it still waits; it is not
  /// stored and not replayed. Source: D-49, R-18.
  void send_interim(response interim) const {
    if (interim_) interim_(std::move(interim));
  }

 private:
  friend class engine;
  friend class route;
  claim() = default;
  claim(fence by, std::shared_ptr<const policy> under, std::stop_token lost,
        std::function<void(response)> interim)
      : fence_(std::move(by)),
        policy_(std::move(under)),
        lost_(std::move(lost)),
        interim_(std::move(interim)) {}

  fence fence_;
  std::shared_ptr<const policy> policy_;
  std::stop_token lost_;
  std::function<void(response)> interim_;
};

}  // namespace callonce
