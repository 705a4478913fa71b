#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <gateway/forwarded.hpp>

#include <callonce/core/replay.hpp>

namespace callonce::gateway {
namespace {

constexpr std::string_view via = "1.1 callonce";

// Between gateway and application alone; a client's copy would be somebody else's word.
constexpr std::array<std::string_view, 4> of_the_gateway{
    "Idempotency-Claim", "Idempotency-Attempt", "Idempotency-Outcome", "Idempotency-Recover"};

// Answered by this hop.
constexpr std::string_view expect = "Expect";

bool is_of_the_gateway(std::string_view name) {
  return std::any_of(of_the_gateway.begin(), of_the_gateway.end(),
                     [&](std::string_view known) { return same_name(known, name); });
}

std::vector<std::string> nominated_by_connection(const header_list& lines) {
  std::vector<std::string> names;
  for (const field& line : lines) {
    if (!same_name(line.name, "Connection")) continue;
    for_each_token(line.value, [&](std::string_view name) { names.emplace_back(name); });
  }
  return names;
}

bool has_token(const header_list& lines, std::string_view name, std::string_view wanted) {
  bool found = false;
  for (const field& line : lines) {
    if (!same_name(line.name, name)) continue;
    for_each_token(line.value,
                   [&](std::string_view each) { found = found || same_name(each, wanted); });
  }
  return found;
}

void append_to_list(header_list& lines, std::string_view name, std::string_view member) {
  std::string whole;
  for (const field& line : lines) {
    if (same_name(line.name, name) && !line.value.empty()) whole.append(line.value).append(", ");
  }
  lines.set(name, whole.append(member));
}

void set_unless_believed(header_list& lines, bool believed, std::string_view name,
                         std::string_view value) {
  if (!believed || lines.find(name) == nullptr) lines.set(name, std::string{value});
}

}  // namespace

request_ids::request_ids(environment& in) {
  std::array<std::byte, 8> random{};
  in.fill_random(random);
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::byte byte : random) {
    prefix_ += digits[std::to_integer<unsigned>(byte) >> 4U];
    prefix_ += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  prefix_ += '-';
}

std::string request_ids::next() {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), ++count_, 16).ptr;
  return prefix_ + std::string{digits.data(), end};
}

std::string request_id_of(const request& head, request_ids& ids) {
  const std::string* given = head.headers().find("X-Request-Id");
  return given != nullptr && !given->empty() ? *given : ids.next();
}

void prepare_for_application(request& head, std::string_view peer, std::string_view request_id) {
  header_list& lines = head.headers();
  const std::vector<std::string> nominated = nominated_by_connection(lines);
  const bool wants_trailers = has_token(lines, "TE", "trailers");
  lines.keep_if([&](const field& line) {
    const auto named = [&](const std::string& name) { return same_name(name, line.name); };
    return !is_hop_by_hop(line.name) && !is_of_the_gateway(line.name) &&
           !same_name(line.name, expect) && std::none_of(nominated.begin(), nominated.end(), named);
  });
  if (wants_trailers) lines.add("TE", "trailers");
  lines.add("Via", std::string{via});
  append_to_list(lines, "X-Forwarded-For", peer);
  const std::string* host = lines.find("Host");
  const std::string host_value = host != nullptr ? *host : std::string{};
  set_unless_believed(lines, head.from_trusted_hop(), "X-Forwarded-Proto", "http");
  set_unless_believed(lines, head.from_trusted_hop(), "X-Forwarded-Host", host_value);
  if (lines.count("X-Request-Id") != 1) lines.set("X-Request-Id", std::string{request_id});
}

void mark_for_client(response& answer, std::string_view request_id) {
  answer.headers().add("Via", std::string{via});
  if (answer.headers().find("X-Request-Id") == nullptr) {
    answer.headers().add("X-Request-Id", std::string{request_id});
  }
}

}  // namespace callonce::gateway
