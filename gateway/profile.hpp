#pragma once

#include <span>
#include <string_view>

#include <gateway/document.hpp>

namespace callonce::gateway {

/// One setting of a profile, as it would stand in the file.
struct preset {
  std::string_view key;
  setting_value value;
};

/// A published contract that a route can speak.
struct profile {
  std::string_view name;
  std::string_view help;  ///< One line.
  std::span<const preset> presets;
};

/// All profiles, in the order of the reference page.
std::span<const profile> all_profiles();
/// Null where there is none of this name.
const profile* find_profile(std::string_view name);

}  // namespace callonce::gateway
