#include <gateway/setting.hpp>
#include <gateway/setting_readings.hpp>

namespace callonce::gateway {
namespace {

using namespace readings;
using namespace std::chrono_literals;
using milliseconds = std::chrono::milliseconds;

constexpr std::uint64_t kib = std::uint64_t{1} << 10;
constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;
// Longer than any protocol lets a client wait or retry; keeps every sum far from overflow.
constexpr milliseconds day = 24h;
constexpr milliseconds ten_years = day * 3650;

template <auto Member>
milliseconds& limit_time(place in) {
  return in.whole.limits.*Member;
}
template <auto Member>
std::uint64_t& limit_count(place in) {
  return in.whole.limits.*Member;
}
template <auto Member>
auto& of_policy(place in) {
  return in.route.policy.*Member;
}

using limits = limit_settings;
using rules = policy_settings;

void add_top(std::vector<setting>& to) {
  to.push_back(
      custom_setting({"", "listen", "where clients connect; port 0 lets the system choose"},
                     "listener, or a list", "ADDRESS:PORT | unix:PATH", set_listen, show_listen));
  to.push_back(custom_setting(
      {"", "upstream", "the application behind; a route may name its own"}, "address",
      "http://HOST[:PORT] | unix:PATH; required unless every request has a route with its own",
      [](place in, const setting_value& given) { return set_upstream(in.whole.upstream, given); },
      [](place in) { return upstream_text(in.whole.upstream); }));
  to.push_back(custom_setting(
      {"", "admin", "health and metrics, read-only; \"\" switches it off"}, "listener",
      "ADDRESS:PORT | unix:PATH; never an address of listen", set_admin, [](place in) {
        return in.whole.admin ? in_quotes(to_text(*in.whole.admin)) : in_quotes("");
      }));
  to.push_back(custom_setting(
      {"", "proxies", "hops in front: only they may set X-Forwarded-* and trusted: identities"},
      "list of texts", "ADDRESS | ADDRESS/BITS | unix", set_proxies, show_proxies));
  to.push_back(list_setting(
      {"", "cors_origins", "web pages that may call: their preflights and our own answers"},
      [](place in) -> std::vector<std::string>& { return in.whole.cors_origins; },
      "https://HOST[:PORT]", check_origins));
}

void add_store_and_scope(std::vector<setting>& to) {
  to.push_back(custom_setting(
      {"store", "url", "where records live; memory: is for development only"}, "text",
      "sqlite:PATH | postgres://USER@HOST/DATABASE | memory:", set_store, show_store));
  to.push_back(duration_setting(
      {"store", "timeout", "how long a request waits for the store before it is answered 503"},
      [](place in) -> milliseconds& { return in.whole.store.timeout; }, 100ms, 5min));
  to.push_back(choice_setting<bool>(
      {"store", "statements", "rows: for servers that spread PostgreSQL's rows over nodes"},
      [](place in) -> bool& { return in.whole.store.rows; }, {{"batches", false}, {"rows", true}}));
  to.push_back(custom_setting(
      {"scope", "from", "whose key it is; the value is stored only as a hash"},
      "text, or a list of which all must be present",
      "header:NAME | cookie:NAME | trusted:NAME | jwt:CLAIM | shared; required",
      [](place in, const setting_value& given) { return set_scope(in.whole.scope, given); },
      [](place in) { return show_scope(in.whole.scope); }));
  to.push_back(custom_setting(
      {"scope", "jwt_key", "the public key that proves tokens of jwt: scopes"}, "file",
      "PEM or JWKS",
      [](place in, const setting_value& given) { return set_file(in.whole.tokens.key, given); },
      [](place in) { return in_quotes(in.whole.tokens.key.string()); }));
  const auto token_text = [&](std::string_view key, member<std::string> at, std::string rule,
                              std::string_view help) {
    to.push_back(text_setting({"scope", key, help}, at, std::move(rule), check_printable));
  };
  token_text(
      "jwt_algorithm", [](place in) -> std::string& { return in.whole.tokens.algorithm; },
      "RS256, ES256, ...; empty: the key's usual one", "the one algorithm that tokens may use");
  token_text(
      "jwt_issuer", [](place in) -> std::string& { return in.whole.tokens.issuer; },
      "the iss of a token; empty: any", "who must have made a token");
  token_text(
      "jwt_audience", [](place in) -> std::string& { return in.whole.tokens.audience; },
      "one aud of a token; empty: any", "whom a token must be made for");
}

void add_limits(std::vector<setting>& to) {
  const auto time = [&](std::string_view key, member<milliseconds> at, milliseconds min,
                        milliseconds max, std::string_view help) {
    to.push_back(duration_setting({"limits", key, help}, at, min, max));
  };
  const auto count = [&](std::string_view key, member<std::uint64_t> at, std::uint64_t min,
                         std::uint64_t max, std::string_view help) {
    to.push_back(count_setting({"limits", key, help}, at, min, max));
  };
  count("connections", limit_count<&limits::connections>, 1, 1'000'000,
        "client connections at once; more wait in the system's queue");
  to.push_back(size_setting({"limits", "header_bytes_max", "a request's head; beyond: 431"},
                            limit_count<&limits::header_bytes_max>, kib, mib));
  time("header_timeout", limit_time<&limits::header_timeout>, 100ms, 10min,
       "from a request's first byte to the end of its head");
  time("body_timeout", limit_time<&limits::body_timeout>, 100ms, 10min,
       "between two reads of a body; beyond: 408");
  time("idle_timeout", limit_time<&limits::idle_timeout>, 100ms, day,
       "between two requests of a connection");
  time("connect_timeout", limit_time<&limits::connect_timeout>, 10ms, 1min,
       "for a new connection to the application; beyond: 502");
  count("upstream_connections", limit_count<&limits::upstream_connections>, 1, 100'000,
        "connections to the application at once; more exchanges wait");
  time("upstream_idle_max", limit_time<&limits::upstream_idle_max>, 0ms, 1h,
       "how long an idle connection is used again; keep it below the application's own limit");
  to.push_back(size_setting(
      {"limits", "buffered_bytes_max", "protected bodies in memory, all together; beyond: 503"},
      limit_count<&limits::buffered_bytes_max>, mib, gib * 1024));
  count("wait_slots", limit_count<&limits::wait_slots>, 0, 1'000'000,
        "duplicates that wait for a running attempt");
  count("detached_slots", limit_count<&limits::detached_slots>, 0, 1'000'000,
        "attempts that go on although their client is gone");
  time("drain", limit_time<&limits::drain>, 0ms, day,
       "how long running attempts may finish after SIGTERM; longer than every timeout");
}

void add_log(std::vector<setting>& to) {
  to.push_back(choice_setting<log_level>({"log", "level", "what is worth a line"},
                                         [](place in) -> log_level& { return in.whole.log.level; },
                                         {{"debug", log_level::debug},
                                          {"info", log_level::info},
                                          {"warning", log_level::warning},
                                          {"error", log_level::error},
                                          {"off", log_level::off}}));
  to.push_back(choice_setting<bool>({"log", "format", "JSON lines for machines, text for people"},
                                    [](place in) -> bool& { return in.whole.log.json; },
                                    {{"json", true}, {"text", false}}));
  to.push_back(boolean_setting({"log", "access", "one line for each request, at level info"},
                               [](place in) -> bool& { return in.whole.log.access; }));
}

void add_route_identity(std::vector<setting>& to) {
  to.push_back(text_setting(
      {"route", "path", "which requests: literal segments, {name}, a last *"},
      [](place in) -> std::string& { return in.route.path; }, "/segment/{name}/*; required",
      check_path));
  to.push_back(text_setting({"route", "name", "its label in metrics and logs; default: the path"},
                            of_policy<&rules::name>, "1 to 100 printable characters", check_label));
  to.push_back(custom_setting(
      {"route", "upstream", "its own application, instead of the top level's"}, "address",
      "http://HOST[:PORT] | unix:PATH",
      [](place in, const setting_value& given) { return set_upstream(in.route.upstream, given); },
      [](place in) { return upstream_text(in.route.upstream); }));
  to.push_back(custom_setting(
      {"route", "scope", "its own scope, instead of that of [scope]"}, "text or list",
      "as scope.from",
      [](place in, const setting_value& given) { return set_scope(in.route.scope, given); },
      [](place in) { return show_scope(in.route.scope ? in.route.scope : in.whole.scope); }));
}

void add_route_demand(std::vector<setting>& to) {
  to.push_back(text_setting(
      {"defaults", "profile", "a published contract: presets for the keys below"},
      [](place in) -> std::string& { return in.route.profile; },
      "ietf | stripe | acp | ucp | iceberg | repeatable", check_profile));
  to.push_back(choice_setting<effect_class>(
      {"defaults", "class", "what is promised about effects; shown, never judged"},
      of_policy<&rules::effects>,
      {{"opaque", effect_class::opaque},
       {"rerunnable", effect_class::rerunnable},
       {"atomic", effect_class::atomic}}));
  to.push_back(list_setting({"defaults", "methods", "which methods are protected"},
                            of_policy<&rules::methods>, "method names", check_methods));
  to.push_back(choice_setting<key_demand>(
      {"defaults", "key", "optional: without a key passed on; required: 400; off: never protected"},
      of_policy<&rules::key>,
      {{"optional", key_demand::optional},
       {"required", key_demand::required},
       {"off", key_demand::off}}));
  to.push_back(choice_setting<key_syntax>(
      {"defaults", "key_syntax", "auto takes quoted and bare keys, strict the quoted form only"},
      of_policy<&rules::key_syntax>,
      {{"auto", key_syntax::automatic}, {"strict", key_syntax::strict}}));
  to.push_back(text_setting({"defaults", "key_header", "the field that carries the key"},
                            of_policy<&rules::key_header>, "a header name", check_key_header));
  to.push_back(
      choice_setting<key_format>({"defaults", "key_format", "what a key must look like; else 400"},
                                 of_policy<&rules::key_format>,
                                 {{"", key_format::any},
                                  {"uuid", key_format::uuid},
                                  {"uuidv4", key_format::uuidv4},
                                  {"uuidv7", key_format::uuidv7},
                                  {"ulid", key_format::ulid}}));
  to.push_back(choice_setting<key_time>(
      {"defaults", "key_time", "where a key's age is read; too old or in the future: 412"},
      of_policy<&rules::key_time>,
      {{"off", key_time::off},
       {"uuidv7", key_time::uuidv7},
       {"ulid", key_time::ulid},
       {"first-sent", key_time::first_sent}}));
  to.push_back(duration_setting(
      {"defaults", "key_skew", "how far a client's clock may be wrong where keys are dated"},
      of_policy<&rules::key_skew>, 0ms, day));
  to.push_back(choice_setting<key_identity>(
      {"defaults", "key_per", "route: the same key on another method or path is another key"},
      of_policy<&rules::key_per>,
      {{"principal", key_identity::principal}, {"route", key_identity::route}}));
}

void add_route_fingerprint(std::vector<setting>& to) {
  to.push_back(custom_setting(
      {"defaults", "fingerprint", "what makes two requests the same: bytes, JSON meaning, fields"},
      "word, or a list of fields",
      "raw | json | body | json-body | [\"FIELD\", \"FIELD.FIELD\", ...]", set_fingerprint,
      show_fingerprint));
  to.push_back(custom_setting(
      {"defaults", "decode", "gzip: hash what a compressed body holds, up to request_body_max"},
      "word", "off | gzip", set_decode,
      [](place in) { return in_quotes(in.route.decode ? "gzip" : "off"); }));
  to.push_back(text_setting(
      {"defaults", "auth_check", "upstream path asked before a replay; a non-2xx is sent instead"},
      [](place in) -> std::string& { return in.route.auth_check; }, "/path, or empty",
      check_auth_path));
}

void add_route_times(std::vector<setting>& to) {
  const auto time = [&](std::string_view key, member<milliseconds> at, milliseconds min,
                        milliseconds max, std::string_view help) {
    to.push_back(duration_setting({"defaults", key, help}, at, min, max));
  };
  time("lease", of_policy<&rules::lease>, policy::lease_min, day,
       "how long a claim is trusted when its owner falls silent");
  time("timeout", of_policy<&rules::timeout>, 10ms, day,
       "how long a client waits for the application, from the won claim; beyond: 504");
  time("detached_max", of_policy<&rules::detached_max>, 10ms, day,
       "how long an attempt may go on without its client");
  time("readback", of_policy<&rules::readback>, 0ms, 1min,
       "how long an uncertain attempt is looked up before its claim is kept");
  time("retention", of_policy<&rules::retention>, 1ms, ten_years,
       "how long an answer is replayed, from its completion");
  time("key_retention", of_policy<&rules::key_retention>, 1ms, ten_years,
       "how long a finished key never runs again; at least retention");
  time("released_retention", of_policy<&rules::released_retention>, 1ms, ten_years,
       "how long a failed attempt's payload is remembered");
  time("wait", of_policy<&rules::wait>, 0ms, day,
       "how long a duplicate waits for the running attempt before it is told 409");
}

void add_route_answers(std::vector<setting>& to) {
  to.push_back(status_setting({"defaults", "on_mismatch", "the answer to another payload"},
                              of_policy<&rules::on_mismatch>, {422, 400, 409}));
  to.push_back(status_setting(
      {"defaults", "on_in_progress", "the answer while the first request still runs"},
      of_policy<&rules::on_in_progress>, {409, 425}));
  to.push_back(choice_setting<bool>(
      {"defaults", "on_lapsed", "after a lapsed lease: run again, or park for a person"},
      of_policy<&rules::park_on_lapse>, {{"reexecute", false}, {"park", true}}));
  to.push_back(custom_setting(
      {"defaults", "max_attempts", "a lapsed claim of so many attempts is parked; 0: no bound"},
      "number", "0 to 1000", set_max_attempts,
      [](place in) { return std::to_string(in.route.policy.max_attempts); }));
  to.push_back(choice_setting<store_down>(
      {"defaults", "store_down", "no claim possible: 503, or run unprotected and say so"},
      of_policy<&rules::store_down>,
      {{"fail_closed", store_down::fail_closed}, {"fail_open", store_down::fail_open}}));
  to.push_back(choice_setting<error_format>(
      {"defaults", "error_format", "how the gateway's own answers are written"},
      [](place in) -> error_format& { return in.route.policy.problems.format; },
      {{"problem", error_format::problem},
       {"stripe", error_format::stripe},
       {"acp", error_format::acp}}));
  to.push_back(boolean_setting({"defaults", "echo_key", "every answer to a key carries it"},
                               of_policy<&rules::echo_key>));
  to.push_back(text_setting(
      {"defaults", "problem_base", "prefix of problem types, instead of urn:callonce:problem:"},
      [](place in) -> std::string& { return in.route.policy.problems.type_base; },
      "a URI, or empty", check_base));
  to.push_back(list_setting({"defaults", "replay_headers_drop", "headers that no replay carries"},
                            of_policy<&rules::replay_headers_drop>, "header names", check_names));
  to.push_back(size_setting({"defaults", "request_body_max", "a protected body; beyond: 413"},
                            of_policy<&rules::request_body_max>, 0, gib * 16));
  to.push_back(size_setting(
      {"defaults", "response_body_max", "an answer's stored body; a larger one is sent, not kept"},
      of_policy<&rules::response_body_max>, 0, gib));
  to.push_back(custom_setting(
      {"defaults", "outcome", "status or class to what becomes of the record"}, "table",
      "200 to 599 or 2xx to 5xx = final | release | keep", set_outcome, show_outcome));
}

std::vector<setting> make_table() {
  std::vector<setting> made;
  add_top(made);
  add_store_and_scope(made);
  add_limits(made);
  add_log(made);
  add_route_identity(made);
  add_route_demand(made);
  add_route_fingerprint(made);
  add_route_times(made);
  add_route_answers(made);
  return made;
}

}  // namespace

std::span<const setting> all_settings() {
  static const std::vector<setting> table = make_table();
  return table;
}

}  // namespace callonce::gateway
