#include <string>

#include <callonce/core/fingerprint.hpp>

namespace callonce {
namespace {

// Absent and empty are different requests; several lines are one list (RFC 9110 section 5.3).
void add_field(hasher& into, const header_list& headers, std::string_view name) {
  std::optional<std::string> value;
  for (const field& line : headers) {
    if (!same_name(line.name, name)) continue;
    value = value ? *value + ", " + line.value : line.value;
  }
  into.number(value ? 1 : 0);
  if (value) into.part(*value);
}

digest raw_v1(const request& asked) {
  hasher into;
  into.number(static_cast<std::uint64_t>(fingerprint_rule::raw_v1));
  into.part(asked.method()).part(asked.target());
  // The essence only: parameters such as a charset differ between honest attempts (F-11).
  const std::string* type = asked.headers().find("Content-Type");
  into.part(type != nullptr ? media_type_essence(*type) : std::string{});
  // The preconditions change what the request means (M-06); everything else about headers may
  // differ between honest attempts (C38).
  for (const char* name :
       {"Content-Encoding", "If-Match", "If-None-Match", "If-Unmodified-Since"}) {
    add_field(into, asked.headers(), name);
  }
  return into.part(asked.body()).finish();
}

}  // namespace

std::optional<fingerprint> fingerprint_of(const request& asked, fingerprint_rule rule) {
  switch (rule) {
    case fingerprint_rule::raw_v1:
      return fingerprint{rule, raw_v1(asked)};
  }
  return std::nullopt;
}

}  // namespace callonce
