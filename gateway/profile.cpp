#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gateway/profile.hpp>

namespace callonce::gateway {
namespace {

using texts = std::vector<std::string>;
using pairs = std::vector<std::pair<std::string, std::string>>;

setting_value text(const char* value) {
  return std::string{value};
}
setting_value number(std::int64_t value) {
  return value;
}

const std::vector<preset>& stripe() {
  static const std::vector<preset> all{
      {"error_format", text("stripe")},
      {"on_mismatch", number(400)},
      {"retention", text("24h")},
      {"key_retention", text("24h")},
      // The first version of that API keeps whatever its own code answered, errors included.
      {"outcome", pairs{{"5xx", "final"}}},
  };
  return all;
}

const std::vector<preset>& acp() {
  static const std::vector<preset> all{
      {"methods", texts{"POST"}},
      {"key", text("required")},
      {"key_per", text("route")},
      {"fingerprint", text("json-body")},
      {"error_format", text("acp")},
      {"echo_key", true},
      // A key past its day is simply new there: no error may tell that it was used.
      {"retention", text("24h")},
      {"key_retention", text("24h")},
  };
  return all;
}

const std::vector<preset>& ucp() {
  static const std::vector<preset> all{
      {"methods", texts{"POST", "PUT", "PATCH", "DELETE"}},
      {"key_per", text("route")},
      {"fingerprint", text("body")},
      {"on_mismatch", number(409)},
      {"retention", text("48h")},
      {"key_retention", text("7d")},
  };
  return all;
}

const std::vector<preset>& iceberg() {
  static const std::vector<preset> all{
      {"methods", texts{"POST", "PUT", "PATCH", "DELETE"}},
      {"key_per", text("route")},
      {"key_format", text("uuid")},
  };
  return all;
}

const std::vector<preset>& repeatable() {
  static const std::vector<preset> all{
      {"methods", texts{"POST", "PUT", "PATCH", "DELETE"}},
      {"key_header", text("Repeatability-Request-ID")},
      {"key_format", text("uuid")},
      {"key_time", text("first-sent")},
      {"on_mismatch", number(400)},
  };
  return all;
}

}  // namespace

std::span<const profile> all_profiles() {
  static const std::vector<profile> all{
      {"ietf", "the Idempotency-Key draft: the built-in values", {}},
      {"stripe", "error objects and retention of Stripe's first API version", stripe()},
      {"acp", "Agentic Commerce Protocol: required, per path, by the body's JSON meaning", acp()},
      {"ucp", "Universal Commerce Protocol: per path, by the body's bytes", ucp()},
      {"iceberg", "Iceberg REST catalog: UUIDs, per path", iceberg()},
      {"repeatable", "OASIS Repeatable Requests: request id and time of first sending",
       repeatable()},
  };
  return all;
}

const profile* find_profile(std::string_view name) {
  const auto all = all_profiles();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const profile& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace callonce::gateway
