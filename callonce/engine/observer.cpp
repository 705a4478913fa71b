#include <array>

#include <callonce/engine/observer.hpp>

namespace callonce {

std::string_view to_string(fact_kind kind) noexcept {
  constexpr std::array<std::string_view, 26> names{
      "passed_through", "unprotected",      "refused",        "claimed",    "replayed",
      "dispatched",     "answered",         "handler_failed", "completed",  "co_committed",
      "answer_differs", "not_co_committed", "released",       "kept",       "parked",
      "sent",           "detached",         "abandoned",      "renewed",    "trust_over",
      "lease_lost",     "in_doubt",         "store_failed",   "unrecorded", "corrupt",
      "purged"};
  const auto at = static_cast<std::size_t>(kind);
  return at < names.size() ? names[at] : "wall_jumped";
}

}  // namespace callonce
