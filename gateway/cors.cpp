#include <algorithm>

#include <gateway/cors.hpp>

namespace callonce::gateway {
namespace {

// How long a browser may remember the permission; browsers allow no more than two hours anyway.
constexpr const char* remembered_seconds = "600";

}  // namespace

std::string cors::origin_of(const request& asked) const {
  if (origins_.empty() || asked.headers().count("Origin") != 1) return {};
  const std::string& origin = *asked.headers().find("Origin");
  return std::find(origins_.begin(), origins_.end(), origin) == origins_.end() ? "" : origin;
}

std::optional<response> cors::preflight(const request& asked, const policy_settings& of) const {
  if (asked.method() != "OPTIONS" || of.key == key_demand::off) return std::nullopt;
  const std::string* const method = asked.headers().find("Access-Control-Request-Method");
  const std::string origin = origin_of(asked);
  if (method == nullptr || origin.empty()) return std::nullopt;
  if (std::find(of.methods.begin(), of.methods.end(), *method) == of.methods.end()) {
    return std::nullopt;
  }
  response made{204};
  made.header("Access-Control-Allow-Origin", origin)
      .header("Access-Control-Allow-Credentials", "true")
      .header("Access-Control-Allow-Methods", *method)
      .header("Access-Control-Max-Age", remembered_seconds)
      .header("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  std::string names;
  for (const field& line : asked.headers()) {
    if (!same_name(line.name, "Access-Control-Request-Headers")) continue;
    names.append(names.empty() ? "" : ", ").append(line.value);
  }
  if (!names.empty()) made.header("Access-Control-Allow-Headers", names);
  return made;
}

void cors::open_for(const std::string& origin, response& answer) {
  if (origin.empty()) return;
  // An application's answer says itself who may read it; only what is added here is named.
  if (answer.made_for()) {
    answer.header("Access-Control-Allow-Origin", origin)
        .header("Access-Control-Allow-Credentials", "true")
        .header("Vary", "Origin");
  }
  if (answer.headers().find("Access-Control-Allow-Origin") == nullptr) return;
  answer.header("Access-Control-Expose-Headers", "Idempotent-Replayed, Retry-After");
}

}  // namespace callonce::gateway
