#include <algorithm>

#include <gateway/profile.hpp>
#include <gateway/reference.hpp>
#include <gateway/setting.hpp>

namespace callonce::gateway {
namespace {

struct chapter {
  std::string_view section;
  std::string_view heading;
  std::string_view text;
};

constexpr chapter chapters[] = {
    {"", "Top level", "Stands before the first table."},
    {"store", "[store]", "Where records live."},
    {"scope", "[scope]",
     "Whose key it is: two callers who send the same key never meet. Required, without a "
     "default.\n\n"
     "- `header:NAME` is a long-lived credential as the client sends it; the whole value counts.\n"
     "- `cookie:NAME` is a cookie whose value does not change while an operation may be retried.\n"
     "- `trusted:NAME` is an identity set by a hop in `proxies`; from any other peer: 401.\n"
     "- `jwt:CLAIM` is a claim of the Bearer token in Authorization, verified with `jwt_key`: "
     "signature under one algorithm, `exp`, `nbf`, and issuer and audience where they are set; "
     "else 401.\n"
     "- `shared` is one scope for everybody: callers can read each other's answers.\n\n"
     "A list takes several of them, of which all must be present. docs/guides/scope.md has tried "
     "examples."},
    {"limits", "[limits]", "What one process takes at once, and how long it waits."},
    {"log", "[log]", "Lines go to standard output. No line has a key or a body in clear."},
    {"route", "[[route]]",
     "One table for each route. The most specific path wins, segment by segment: literal, then "
     "`{name}`, then `*`. Paths are compared byte for byte; the query does not count. A request "
     "that matches none gets the defaults. A route also takes every key of `[defaults]`."},
    {"defaults", "[defaults] and [[route]]",
     "Every route inherits the defaults and may override each of them. Strongest first: the "
     "route's "
     "own key, the route's profile, the defaults' own key, the defaults' profile, built in."},
};

constexpr std::string_view introduction =
    R"(<!-- Made by `callonce check --reference`; a test compares. -->
# Configuration

`callonce serve --config FILE` reads one TOML file; `callonce check --config FILE` says what is
wrong with it without starting anything, and with `--request 'POST /v1/charges/7/capture'` which
route a request gets and where each of its settings comes from.

```toml
listen   = "127.0.0.1:8080"
upstream = "http://127.0.0.1:9000"

[scope]
from = "header:X-Api-Key"

[[route]]
path = "/v1/charges"
key  = "required"
```

- Durations are written `"250ms"`, `"5s"`, `"1m"`, `"24h"`, `"7d"`; sizes `"512B"`, `"32KiB"`,
  `"64MiB"`, `"1GiB"`.
- `${NAME}` in a text is taken from the environment; a name that is not set there stops the start.
- Relative paths start at the directory of the file.
- An unknown key, a value out of its range or an impossible combination stops the start with one
  line each, which names file, line and key and says what to do (exit code 1).
)";
std::string cell(std::string_view text) {
  std::string made;
  for (const char c : text) made.append(c == '|' ? "\\|" : std::string{c});
  return made;
}

std::string profiles_table() {
  std::string made = "\n## Profiles\n\n`profile = NAME` presets keys; each may still be set.\n";
  made += "\n| Name | What it is | Presets |\n|---|---|---|\n";
  for (const profile& each : all_profiles()) {
    made.append("| `").append(each.name).append("` | ").append(each.help).append(" | ");
    configuration whole;
    route_settings route;
    std::string presets;
    for (const preset& one : each.presets) {
      for (const setting& known : all_settings()) {
        if (known.section != "defaults" || known.key != one.key) continue;
        known.set(place{whole, route}, one.value);
        presets.append(presets.empty() ? "" : ", ").append("`").append(one.key).append(" = ");
        presets.append(cell(known.show(place{whole, route}))).append("`");
      }
    }
    made.append(presets.empty() ? "none" : presets).append(" |\n");
  }
  return made;
}

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + cell(text) + "`";
}

}  // namespace

std::string reference_page() {
  std::string page{introduction};
  for (const chapter& each : chapters) {
    page.append("\n## ").append(each.heading).append("\n\n").append(each.text);
    page += "\n\n| Key | Type | Default | Takes | Meaning |\n|---|---|---|---|---|\n";
    for (const setting& known : all_settings()) {
      if (known.section != each.section) continue;
      page.append("| `").append(known.key).append("` | ").append(cell(known.type));
      page.append(" | ").append(code(default_text(known)));
      page.append(" | ").append(cell(known.rule)).append(" | ").append(cell(known.help));
      page += " |\n";
    }
  }
  return page + profiles_table();
}

std::string settings_help() {
  std::size_t name_width = 0;
  std::size_t default_width = 0;
  for (const setting& each : all_settings()) {
    name_width = std::max(name_width, each.full_name().size());
    default_width = std::max(default_width, std::min<std::size_t>(default_text(each).size(), 24));
  }
  const auto padded = [](std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
  };
  std::string made;
  for (const setting& each : all_settings()) {
    made += "  " + padded(each.full_name(), name_width) + "  " +
            padded(default_text(each), default_width) + "  " + std::string{each.help} + "\n";
  }
  return made;
}

}  // namespace callonce::gateway
