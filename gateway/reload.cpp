#include <gateway/reload.hpp>
#include <gateway/setting.hpp>

namespace callonce::gateway {
namespace {

// Read once, when sockets are opened and the store is.
bool needs_restart(const setting& known) {
  return known.section == "store" || known.section == "limits" || known.section == "log" ||
         (known.section.empty() && (known.key == "listen" || known.key == "admin"));
}

}  // namespace

std::vector<std::string> reload_mistakes(const configuration& now, const configuration& wanted) {
  std::vector<std::string> mistakes;
  configuration before = now;
  configuration after = wanted;
  for (const setting& each : all_settings()) {
    if (!needs_restart(each)) continue;
    const std::string was = each.show(place{before, before.defaults});
    const std::string would_be = each.show(place{after, after.defaults});
    if (was == would_be) continue;
    mistakes.push_back(each.full_name() + ": is " + was + " until a restart, the file says " +
                       would_be + ": put it back, or restart");
  }
  if (identity_rules(now) != identity_rules(wanted)) {
    mistakes.push_back(
        "scope: the file changes whose keys are the same, so retries of old requests would run "
        "again: put scope and key_per back, or restart with --accept-new-scopes");
  }
  return mistakes;
}

}  // namespace callonce::gateway
