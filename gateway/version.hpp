#pragma once

namespace callonce::gateway {

inline constexpr const char* version = CALLONCE_VERSION;

}  // namespace callonce::gateway
