#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/message.hpp>
#include <callonce/core/policy.hpp>

namespace callonce::gateway {

/// Cross-origin requests from the pages that `cors_origins` lists: their preflights for protected
/// routes, and what lets a page read the gateway's own answers and marks. What the application
/// answers stays its own. Source: Fetch standard, CORS protocol; M-08.
class cors {
 public:
  explicit cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  /// The answer to a preflight for a protected method, from a listed page; nothing otherwise: then
  /// it passes to the application.
  std::optional<response> preflight(const request& asked, const policy_settings& of) const;
  /// The listed page that asks, or empty.
  std::string origin_of(const request& asked) const;
  /// Lets the page at `origin` read an answer that the gateway makes or marks.
  static void open_for(const std::string& origin, response& answer);

 private:
  std::vector<std::string> origins_;
};

}  // namespace callonce::gateway
