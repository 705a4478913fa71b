#include <algorithm>
#include <array>
#include <vector>

#include <callonce/core/replay.hpp>

namespace callonce {
namespace {

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) noexcept {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view known) { return same_name(known, name); });
}

constexpr std::array<std::string_view, 10> hop_by_hop{"Connection",        "Keep-Alive",
                                                      "Proxy-Connection",  "TE",
                                                      "Trailer",           "Upgrade",
                                                      "Transfer-Encoding", "Proxy-Authenticate",
                                                      "HTTP2-Settings",    "Proxy-Authorization"};

// What callonce says and is told; a claim's handle is for the application alone.
constexpr std::array<std::string_view, 7> steering{
    "Idempotent-Replayed",  "Idempotency-Outcome",     "Idempotency-Resource",
    "Idempotency-Recorded", "Idempotency-Unprotected", "Idempotency-Claim",
    "Idempotency-Attempt"};

// True of the first exchange only: its moment, its hops, its quota, its trace.
constexpr std::array<std::string_view, 9> of_one_exchange{
    "Date",          "Age",         "Via",        "Server",      "Alt-Svc",
    "Server-Timing", "traceparent", "tracestate", "X-Request-Id"};

// Framing, routing, credentials, and what says how the body is to be read.
constexpr std::array<std::string_view, 14> never_in_trailers{
    "Content-Length",   "Content-Type",    "Content-Encoding", "Content-Range", "Host",
    "Set-Cookie",       "Authorization",   "Cache-Control",    "Location",      "Date",
    "WWW-Authenticate", "Idempotency-Key", "Retry-After",      "Vary"};

bool is_named(std::span<const std::string> names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& each) { return same_name(each, name); });
}

bool is_rate_limit(std::string_view name) {
  constexpr std::string_view prefix = "RateLimit";
  return name.size() >= prefix.size() && same_name(name.substr(0, prefix.size()), prefix);
}

}  // namespace

bool is_hop_by_hop(std::string_view name) noexcept {
  return is_one_of(hop_by_hop, name);
}

void strip_for_client(header_list& headers) {
  std::vector<std::string> nominated;
  for (const field& line : headers) {
    if (!same_name(line.name, "Connection")) continue;
    for_each_token(line.value, [&](std::string_view name) { nominated.emplace_back(name); });
  }
  headers.keep_if([&](const field& line) {
    const auto named = [&](const std::string& name) { return same_name(name, line.name); };
    return !is_hop_by_hop(line.name) && !is_one_of(steering, line.name) &&
           !same_name(line.name, "Content-Length") &&
           std::none_of(nominated.begin(), nominated.end(), named);
  });
}

void strip_trailers(header_list& trailers) {
  trailers.keep_if([](const field& line) {
    return !is_hop_by_hop(line.name) && !is_one_of(steering, line.name) &&
           !is_one_of(never_in_trailers, line.name);
  });
}

stored_answer freeze(const response& answer, std::span<const std::string> dropped,
                     std::uint64_t body_max) {
  stored_answer made;
  made.status = answer.status();
  made.headers = answer.headers();
  strip_for_client(made.headers);
  made.headers.keep_if([&](const field& line) {
    return !is_one_of(of_one_exchange, line.name) && !is_rate_limit(line.name) &&
           !is_named(dropped, line.name);
  });
  const std::string* resource = answer.headers().find("Idempotency-Resource");
  if (resource == nullptr) resource = answer.headers().find("Location");
  if (resource != nullptr) made.resource = *resource;
  made.trailers = answer.trailers();
  strip_trailers(made.trailers);
  if (answer.content().size() > body_max) {
    made.omitted = body_omitted::cap;
    made.trailers = {};
  } else {
    made.body = answer.content();
  }
  return made;
}

response thaw(const stored_answer& answer, bool mark, std::span<const std::string> dropped) {
  response made{answer.status, answer.headers, answer.body};
  made.trailers() = answer.trailers;
  made.headers().keep_if([&](const field& line) { return !is_named(dropped, line.name); });
  if (mark) made.headers().add(std::string{replayed_field}, "true");
  return made;
}

}  // namespace callonce
