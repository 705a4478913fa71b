#include <algorithm>
#include <map>

#include <gateway/config_rules.hpp>
#include <gateway/routes.hpp>
#include <gateway/units.hpp>

namespace callonce::gateway {
namespace {

unsigned line_of(const std::map<std::string, origin, std::less<>>& origins, std::string_view key) {
  const auto found = origins.find(key);
  return found == origins.end() ? 0 : found->second.line;
}

class judge {
 public:
  judge(const configuration& of, judgement_of_rules& into) : of_(of), into_(into) {}

  void whole() {
    scope();
    listeners();
    upstreams();
    shapes();
    each_route(of_.defaults, "defaults");
    for (const route_settings& each : of_.routes) each_route(each, "route " + each.path);
    drain();
    if (of_.store.memory) {
      warn(line_of(of_.origins, "store.url"),
           "store.url: memory: forgets every key when the process ends, and no second gateway "
           "sees them: for development only");
    }
  }

 private:
  void blame(unsigned line, std::string text) { into_.mistakes.push_back({line, std::move(text)}); }
  void warn(unsigned line, std::string text) { into_.warnings.push_back({line, std::move(text)}); }

  void scope() {
    const unsigned line = line_of(of_.origins, "scope.from");
    if (!of_.scope) {
      blame(0,
            "scope.from: is missing, and has no default: say whose keys they are, e.g. "
            "from = \"header:X-Api-Key\" under [scope]");
    } else if (of_.scope->is_shared()) {
      warn(line, "scope.from: shared: callers who send the same key can read each other's answers");
    } else if (of_.scope->is_trusted() && of_.proxies.empty()) {
      blame(line, "scope.from: " + of_.scope->text() +
                      " is set by a hop in front, but proxies names none: list its address there");
    }
  }

  void listeners() {
    const unsigned line = line_of(of_.origins, "listen");
    for (std::size_t i = 0; i < of_.listen.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!collide(of_.listen[i], of_.listen[j])) continue;
        blame(line, "listen: " + to_text(of_.listen[i]) + " and " + to_text(of_.listen[j]) +
                        " cannot both be opened: remove one");
      }
      if (of_.admin && collide(of_.listen[i], *of_.admin)) {
        blame(line_of(of_.origins, "admin"),
              "admin: is on the public address " + to_text(of_.listen[i]) +
                  ": give it an address of its own, or \"\" for none");
      }
    }
    if (of_.admin && !is_local(*of_.admin)) {
      warn(line_of(of_.origins, "admin"),
           "admin: " + to_text(*of_.admin) +
               " can be reached from other hosts: everybody there can read health and metrics");
    }
  }

  void upstreams() {
    const bool all_have_own =
        std::any_of(of_.routes.begin(), of_.routes.end(),
                    [](const route_settings& each) { return each.path == "/*" && each.upstream; });
    if (!of_.upstream && !all_have_own) {
      blame(0,
            "upstream: is missing: say where the application is, e.g. \"http://127.0.0.1:9000\"");
    }
    const auto loops = [&](const std::optional<endpoint>& to, unsigned line, const char* where) {
      for (const endpoint& own : of_.listen) {
        if (to && own.port != 0 && *to == own) {
          blame(line, std::string{where} + ": is the gateway's own listener " + to_text(own) +
                          ": name the application instead");
        }
      }
    };
    loops(of_.upstream, line_of(of_.origins, "upstream"), "upstream");
    for (const route_settings& each : of_.routes) {
      loops(each.upstream, line_of(each.origins, "upstream"), "route.upstream");
    }
  }

  void shapes() {
    std::map<std::string, const route_settings*> seen;
    for (const route_settings& each : of_.routes) {
      const auto [other, fresh] = seen.emplace(shape_of(each.path), &each);
      if (fresh) continue;
      blame(line_of(each.origins, "path"),
            "route.path: " + each.path + " matches the same requests as " + other->second->path +
                " in line " + std::to_string(line_of(other->second->origins, "path")) +
                ": remove one of the two routes");
    }
  }

  void each_route(const route_settings& route, const std::string& name) {
    const policy_settings& is = route.policy;
    const auto line = [&](std::string_view one, std::string_view other) {
      return std::max(line_of(route.origins, one), line_of(route.origins, other));
    };
    // What the defaults have wrong is said once, there.
    const auto own = [&](std::string_view one, std::string_view other) {
      const auto from_route = [&](std::string_view key) {
        const auto found = route.origins.find(key);
        return found != route.origins.end() && found->second.from == origin::source::route;
      };
      return route.path.empty() || from_route(one) || from_route(other);
    };
    if (is.key_retention < is.retention && own("key_retention", "retention")) {
      blame(line("key_retention", "retention"),
            name + ": key_retention " + to_text(is.key_retention) + " is below retention " +
                to_text(is.retention) + ": a key must live as long as its answer, so raise it");
    }
    if (is.effects == effect_class::opaque && is.timeout > is.lease && is.key != key_demand::off &&
        (own("timeout", "lease") || own("class", "key"))) {
      warn(line("timeout", "lease"),
           name + ": timeout " + to_text(is.timeout) + " is beyond lease " + to_text(is.lease) +
               ": if this process dies, the operation may run again while the application still "
               "works on it; keep timeout below lease, or make the route rerunnable or atomic");
    }
  }

  void drain() {
    std::chrono::milliseconds longest = of_.defaults.policy.timeout;
    std::string name = "defaults";
    for (const route_settings& each : of_.routes) {
      if (each.policy.timeout <= longest) continue;
      longest = each.policy.timeout;
      name = "route " + each.path;
    }
    if (of_.limits.drain > longest) return;
    blame(line_of(of_.origins, "limits.drain"), "limits.drain: " + to_text(of_.limits.drain) +
                                                    " is not longer than the longest timeout, " +
                                                    to_text(longest) + " of " + name +
                                                    ": raise drain or lower that timeout");
  }

  const configuration& of_;
  judgement_of_rules& into_;
};

}  // namespace

judgement_of_rules judge_rules(const configuration& of) {
  judgement_of_rules made;
  judge{of, made}.whole();
  return made;
}

}  // namespace callonce::gateway
