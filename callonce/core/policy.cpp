#include <algorithm>
#include <stdexcept>

#include <boost/json/parse.hpp>

#include <callonce/core/digest.hpp>
#include <callonce/core/policy.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

// Strangers can cause these at will; their rows go quickly.
constexpr std::chrono::milliseconds stranger_retention = 1min;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

problem scope_problem(scope_fault fault) {
  switch (fault) {
    case scope_fault::unusable:
      return problem_code::scope_unusable;
    case scope_fault::missing_credential:
    case scope_fault::unproved:
    case scope_fault::untrusted_hop:
      return problem_code::scope_missing;
    case scope_fault::missing_header:
    case scope_fault::repeated:
      break;
  }
  problem made{problem_code::scope_missing};
  made.status = 400;
  if (fault == scope_fault::repeated) made.reason = "repeated";
  return made;
}

problem key_problem(key_fault fault) {
  problem made{problem_code::key_invalid};
  made.reason = to_string(fault);
  return made;
}

// Taken at its word, the key would end at this hop and the request run unprotected (G-10).
bool is_nominated(const header_list& headers, std::string_view name) {
  bool found = false;
  for (const field& line : headers) {
    if (!same_name(line.name, "Connection")) continue;
    for_each_token(line.value,
                   [&](std::string_view each) { found = found || same_name(each, name); });
  }
  return found;
}

constexpr std::string_view first_sent = "Repeatability-First-Sent";

// A dated key is refused while its record may be gone already, so that a late retry cannot run
// again; the skew is taken off, for a client's clock may be ahead.
std::optional<problem> judge_age(const policy_settings& is, const key& of, const request& head,
                                 wall_time now) {
  std::optional<wall_time> made = creation_of(of.bytes(), is.key_time);
  if (is.key_time == key_time::first_sent) {
    if (head.headers().count(first_sent) != 1) return key_problem(key_fault::first_sent);
    made = parse_fixdate(*head.headers().find(first_sent));
    if (!made) return key_problem(key_fault::first_sent);
  }
  if (!made) return key_problem(key_fault::format);
  if (*made > now + is.key_skew) {
    problem future{problem_code::key_expired};
    future.reason = "in_the_future";
    return future;
  }
  if (now - *made > is.key_retention - is.key_skew) {
    problem old{problem_code::key_expired};
    old.reason = "too_old";
    return old;
  }
  return std::nullopt;
}

// An inner layer's "in progress" must not be frozen by an outer one (C97).
bool says_retryable(const response& answer) {
  if (answer.headers().find("Retry-After") != nullptr) return true;
  const std::string* type = answer.headers().find("Content-Type");
  if (type == nullptr || media_type_essence(*type) != "application/problem+json") return false;
  boost::system::error_code fault;
  const auto text = answer.body_text();
  const boost::json::value content = boost::json::parse({text.data(), text.size()}, fault);
  if (fault || !content.is_object()) return false;
  const boost::json::value* retryable = content.as_object().if_contains("retryable");
  return retryable != nullptr && retryable->is_bool() && retryable->as_bool();
}

outcome_rule built_in_rule(const response& answer) {
  switch (answer.status()) {
    case 401:
    case 403:
    case 406:
    case 407:
    case 408:
    case 421:
    case 423:
    case 425:
    case 428:
    case 429:
    case 431:
      return outcome_rule::release;
    case 409:
      return says_retryable(answer) ? outcome_rule::release : outcome_rule::complete;
    default:
      return answer.status() >= 500 ? outcome_rule::release : outcome_rule::complete;
  }
}

std::optional<outcome_rule> configured_rule(const policy& by, int status) {
  const auto& rules = by.settings().outcome;
  if (const auto exact = rules.find(status); exact != rules.end()) return exact->second;
  if (const auto whole = rules.find(status / 100); whole != rules.end()) return whole->second;
  return std::nullopt;
}

// A word that is none of ours decides nothing.
std::optional<judgement::kind> said_by_application(const response& answer) {
  const std::string* said = answer.headers().find("Idempotency-Outcome");
  if (said == nullptr) return std::nullopt;
  if (same_name(*said, "final")) return judgement::kind::complete;
  if (same_name(*said, "retryable")) return judgement::kind::release;
  if (same_name(*said, "unknown")) return judgement::kind::park;
  return std::nullopt;
}

std::chrono::milliseconds released_retention(const policy& by, int status) {
  const bool stranger = status == 401 || status == 403 || status == 407 || status == 429;
  const auto whole = by.settings().released_retention;
  return stranger ? std::min(whole, stranger_retention) : whole;
}

}  // namespace

policy& policy::scope(scope_rule rule) {
  settings_.scope = std::move(rule);
  return *this;
}
policy& policy::name(std::string label) {
  settings_.name = std::move(label);
  return *this;
}
policy& policy::methods(std::vector<std::string> protected_methods) {
  settings_.methods = std::move(protected_methods);
  return *this;
}
policy& policy::key(key_demand demand) {
  settings_.key = demand;
  return *this;
}
policy& policy::lease(std::chrono::milliseconds length) {
  settings_.lease = length;
  settings_.timeout = std::min(settings_.timeout, length * 5 / 6);
  return *this;
}
policy& policy::timeout(std::chrono::milliseconds length) {
  settings_.timeout = length;
  return *this;
}
policy& policy::wait(std::chrono::milliseconds length) {
  settings_.wait = length;
  return *this;
}
policy& policy::retention(std::chrono::milliseconds of_body, std::chrono::milliseconds of_key) {
  settings_.retention = of_body;
  settings_.key_retention = of_key;
  return *this;
}
policy& policy::park_on_lapse(bool park) {
  settings_.park_on_lapse = park;
  return *this;
}

void policy::check() const {
  const policy_settings& is = settings_;
  const std::string where = is.name.empty() ? "" : "route '" + is.name + "': ";
  const auto refuse = [&](const std::string& why) { throw std::invalid_argument(where + why); };
  if (!is.scope) refuse("no scope rule: say whose keys they are, e.g. header:X-Api-Key");
  if (is.lease < lease_min) refuse("lease is below 2s: use 2s or more");
  if (is.timeout <= 0ms) refuse("timeout must be above 0");
  if (is.detached_max <= 0ms) refuse("detached_max must be above 0");
  if (is.wait < 0ms || is.readback < 0ms) refuse("wait and readback cannot be negative");
  if (is.retention <= 0ms) refuse("retention must be above 0");
  if (is.key_retention < is.retention) refuse("key_retention is below retention: raise it");
  if (is.released_retention <= 0ms) refuse("released_retention must be above 0");
  if (is.on_mismatch != 422 && is.on_mismatch != 400 && is.on_mismatch != 409) {
    refuse("on_mismatch must be 422, 400 or 409");
  }
  if (is.on_in_progress != 409 && is.on_in_progress != 425) {
    refuse("on_in_progress must be 409 or 425");
  }
  if (is.key_header.empty()) refuse("key_header is empty: name a header field");
  if (is.key_time != key_time::off && is.key_retention <= is.key_skew * 2) {
    refuse("key_retention must be more than twice key_skew where keys are dated");
  }
}

claim_terms policy::terms() const {
  claim_terms made;
  made.lease = settings_.lease;
  made.retention = settings_.retention;
  made.key_retention = settings_.key_retention;
  made.response_body_max = settings_.response_body_max;
  made.park = settings_.park_on_lapse;
  made.route = settings_.name;
  return made;
}

std::variant<pass_through, problem, identity> admit(const policy& by, const request& head,
                                                    wall_time now) {
  const policy_settings& is = by.settings();
  if (is.key == key_demand::off || !contains(is.methods, head.method())) return pass_through{};
  const std::size_t lines = head.headers().count(is.key_header);
  if (lines == 0) {
    // Half of a pair is a mistake, not a wish for no protection.
    const bool half = is.key_time == key_time::first_sent && head.headers().count(first_sent) > 0;
    if (is.key == key_demand::optional && !half) return pass_through{};
    return problem{problem_code::key_missing};
  }
  if (is_nominated(head.headers(), is.key_header)) {
    problem why{problem_code::bad_request};
    why.reason = "key_in_connection";
    return why;
  }
  // Doubled or invalid lines mean the same as one `1` (RFC 8470 section 5.1).
  if (head.headers().count("Early-Data") > 0) return problem{problem_code::early_data};
  auto scope = is.scope->derive(head);
  if (const auto* fault = std::get_if<scope_fault>(&scope)) return scope_problem(*fault);
  if (lines > 1) return key_problem(key_fault::repeated);
  auto parsed = parse_key(*head.headers().find(is.key_header), is.key_syntax);
  if (const auto* fault = std::get_if<key_fault>(&parsed)) return key_problem(*fault);
  key& found = std::get<key>(parsed);
  if (!has_format(found.bytes(), is.key_format)) return key_problem(key_fault::format);
  if (is.key_time != key_time::off) {
    if (const auto why = judge_age(is, found, head, now)) return *why;
  }
  return identity_of(by, std::get<scope_hash>(scope), std::move(found), head.method(),
                     head.target());
}

identity identity_of(const policy& by, const scope_hash& scope, key of, std::string_view method,
                     std::string_view target) {
  if (by.settings().key_per == key_identity::principal) return identity{scope, std::move(of)};
  const std::string_view path = target.substr(0, std::min(target.find('?'), target.size()));
  return identity{hasher{}.part(scope).part(method).part(path).finish(), std::move(of)};
}

answer_debts::answer_debts(const policy& by, const request& head) {
  const policy_settings& is = by.settings();
  if (is.key == key_demand::off || !contains(is.methods, head.method())) return;
  const std::string* const key = head.headers().find(is.key_header);
  if (key == nullptr) return;
  repeatable_ = same_name(is.key_header, "Repeatability-Request-ID");
  if (!is.echo_key) return;
  echoed_name_ = is.key_header;
  echoed_value_ = *key;
}

void answer_debts::pay(response& answer) const {
  if (!echoed_name_.empty()) answer.headers().set(echoed_name_, echoed_value_);
  if (!repeatable_) return;
  answer.headers().set("Repeatability-Result", answer.made_for() ? "rejected" : "accepted");
}

judgement judge(const policy& by, const response& answer) {
  using kind = judgement::kind;
  const judgement release{kind::release, released_retention(by, answer.status())};
  if (const std::optional<kind> said = said_by_application(answer)) {
    return *said == kind::release ? release : judgement{*said, {}};
  }
  const bool park = by.settings().park_on_lapse;
  const std::optional<outcome_rule> configured = configured_rule(by, answer.status());
  switch (configured.value_or(built_in_rule(answer))) {
    case outcome_rule::complete:
      return {kind::complete, {}};
    case outcome_rule::keep:
      return {park ? kind::park : kind::keep, {}};
    case outcome_rule::release:
      break;
  }
  if (park && !configured && answer.status() >= 500) return {kind::park, {}};
  return release;
}

bool says_nothing_certain(const policy& by, const response& received) {
  if (received.status() != 502 && received.status() != 504) return false;
  return !configured_rule(by, received.status()) && !said_by_application(received);
}

}  // namespace callonce
