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
    tokens();
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
    if (of_.store.rows && of_.store.server.empty()) {
      warn(line_of(of_.origins, "store.statements"),
           "store.statements: only a postgres:// store has a choice of them: remove it");
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
    } else {
      trusted(*of_.scope, line, "scope.from");
    }
    for (const route_settings& each : of_.routes) {
      if (each.scope) trusted(*each.scope, line_of(each.origins, "scope"), "route.scope");
    }
    if (wants_tokens(of_) && of_.tokens.key.empty()) {
      blame(line,
            "scope.jwt_key: is missing: a jwt: scope needs the file of the key that proves "
            "tokens, as PEM or JWKS");
    }
  }

  void tokens() {
    if (wants_tokens(of_)) return;
    for (const char* key : {"jwt_key", "jwt_algorithm", "jwt_issuer", "jwt_audience"}) {
      const unsigned line = line_of(of_.origins, std::string{"scope."} + key);
      if (line == 0) continue;
      warn(line, std::string{"scope."} + key +
                     ": no scope asks for a claim, so tokens are not looked at: write from = "
                     "\"jwt:sub\", or remove it");
    }
  }

  void trusted(const scope_rule& rule, unsigned line, const std::string& name) {
    if (!rule.is_trusted() || !of_.proxies.empty()) return;
    blame(line, name + ": " + rule.text() +
                    " is set by a hop in front, but proxies names none: list its address there");
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
    keys(route, name);
    if (is.effects == effect_class::opaque && is.timeout > is.lease && is.key != key_demand::off &&
        (own("timeout", "lease") || own("class", "key"))) {
      warn(line("timeout", "lease"),
           name + ": timeout " + to_text(is.timeout) + " is beyond lease " + to_text(is.lease) +
               ": if this process dies, the operation may run again while the application still "
               "works on it; keep timeout below lease, or make the route rerunnable or atomic");
    }
  }

  void keys(const route_settings& route, const std::string& name) {
    const policy_settings& is = route.policy;
    const auto at = [&](std::string_view key) { return line_of(route.origins, key); };
    const bool body_alone = route.print_by == fingerprint_rule::kind::body ||
                            route.print_by == fingerprint_rule::kind::json_body;
    if (body_alone && is.key_per != key_identity::route) {
      blame(at("fingerprint"), name +
                                   ": fingerprint: the body alone would let another path's "
                                   "answer be replayed: set key_per = \"route\"");
    }
    if (is.key_time != key_time::off && is.key_retention <= is.key_skew * 2) {
      blame(std::max(at("key_time"), at("key_skew")),
            name + ": key_skew " + to_text(is.key_skew) + " leaves nothing of key_retention " +
                to_text(is.key_retention) + ": raise key_retention above twice the skew");
    }
    const bool dated_otherwise =
        (is.key_time == key_time::uuidv7 && is.key_format != key_format::any &&
         is.key_format != key_format::uuid && is.key_format != key_format::uuidv7) ||
        (is.key_time == key_time::ulid && is.key_format != key_format::any &&
         is.key_format != key_format::ulid);
    if (dated_otherwise) {
      blame(at("key_time"), name +
                                ": key_time: no key of this key_format carries such a time: "
                                "give both the same format");
    }
    if (is.store_down == store_down::fail_open && is.effects == effect_class::atomic) {
      blame(at("store_down"), name +
                                  ": store_down: class atomic cannot run without its store: "
                                  "use fail_closed");
    }
    if (is.store_down == store_down::fail_open && is.key == key_demand::required) {
      warn(at("store_down"), name +
                                 ": store_down: while the store is down, every retry runs "
                                 "again, although this route requires keys");
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

bool wants_tokens(const configuration& of) {
  const auto wants = [](const std::optional<scope_rule>& rule) {
    return rule && rule->needs_verifier();
  };
  return wants(of.scope) ||
         std::any_of(of.routes.begin(), of.routes.end(),
                     [&](const route_settings& each) { return wants(each.scope); });
}

judgement_of_rules judge_rules(const configuration& of) {
  judgement_of_rules made;
  judge{of, made}.whole();
  return made;
}

}  // namespace callonce::gateway
