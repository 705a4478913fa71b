#include <algorithm>

#include <callonce/core/fingerprint.hpp>

#include "callonce/core/gzip.hpp"
#include "callonce/core/json_meaning.hpp"

namespace callonce {
namespace {

using kind = fingerprint_rule::kind;

// A rule, taken apart.
struct reading {
  kind what = kind::raw;
  bool decoded = false;
  std::vector<std::string> names;
};

constexpr std::string_view word_of(kind what) {
  switch (what) {
    case kind::raw:
      return "raw";
    case kind::json:
      return "json";
    case kind::body:
      return "body";
    case kind::json_body:
      return "json-body";
    case kind::fields:
      return "fields";
  }
  return "raw";
}

std::string_view take_word(std::string_view& rest) {
  const std::size_t blank = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, blank);
  rest.remove_prefix(std::min(blank + 1, rest.size()));
  return word;
}

std::optional<reading> read(const fingerprint_rule& rule) {
  std::string_view rest = rule.text();
  std::string_view word = take_word(rest);
  reading made;
  made.decoded = word == "gzip";
  if (made.decoded) word = take_word(rest);
  for (const kind what : {kind::raw, kind::json, kind::body, kind::json_body, kind::fields}) {
    if (word != word_of(what)) continue;
    made.what = what;
    while (!rest.empty()) made.names.emplace_back(take_word(rest));
    if (made.names.empty() == (what == kind::fields)) return std::nullopt;
    return made;
  }
  return std::nullopt;
}

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

// JSON, or what does not say what it is: other types are compared byte for byte.
bool may_be_json(const std::string* content_type) {
  if (content_type == nullptr) return true;
  const std::string essence = media_type_essence(*content_type);
  return essence.empty() || essence == "application/json" || essence.ends_with("+json");
}

// What the body counts by: its bytes, or what they mean.
void add_body(hasher& into, const request& asked, const reading& by, std::string_view bytes) {
  if (by.what == kind::raw || by.what == kind::body) {
    into.part(bytes);
    return;
  }
  std::optional<std::string> meaning;
  if (may_be_json(asked.headers().find("Content-Type"))) {
    meaning = by.what == kind::fields ? detail::json_meaning(bytes, by.names)
                                      : detail::json_meaning(bytes);
  }
  into.number(meaning ? 1 : 0).part(meaning ? std::string_view{*meaning} : bytes);
}

// The content of a gzip body; nothing where there is none, or it must count as it came.
std::optional<std::string> decoded_body(const request& asked, std::uint64_t bytes_max) {
  const std::string* coding = asked.headers().find("Content-Encoding");
  if (coding == nullptr || asked.headers().count("Content-Encoding") != 1) return std::nullopt;
  if (!same_name(*coding, "gzip") && !same_name(*coding, "x-gzip")) return std::nullopt;
  return detail::gunzip(asked.body(), bytes_max);
}

}  // namespace

fingerprint_rule::fingerprint_rule(kind what, std::span<const std::string> names, bool decoded) {
  text_ = decoded ? "gzip " : "";
  text_ += word_of(what);
  for (const std::string& name : names) text_.append(" ").append(name);
}

fingerprint_rule fingerprint_rule::from_text(std::string text) {
  fingerprint_rule made;
  made.text_ = std::move(text);
  return made;
}

std::optional<fingerprint> fingerprint_of(const request& asked, const fingerprint_rule& rule,
                                          std::uint64_t decoded_max) {
  const std::optional<reading> by = read(rule);
  if (!by) return std::nullopt;
  std::optional<std::string> decoded;
  if (by->decoded) decoded = decoded_body(asked, decoded_max);
  const std::string_view body = decoded ? std::string_view{*decoded} : asked.body_text();

  hasher into;
  into.number(static_cast<std::uint64_t>(by->what) + 1);
  if (by->what == kind::body || by->what == kind::json_body) {
    const std::string& target = asked.target();
    into.part(std::string_view{target}.substr(std::min(target.find('?'), target.size())));
    add_body(into, asked, *by, body);
    return fingerprint{rule, into.finish()};
  }
  into.part(asked.method()).part(asked.target());
  // The essence only: parameters such as a charset differ between honest attempts (F-11).
  const std::string* type = asked.headers().find("Content-Type");
  into.part(type != nullptr ? media_type_essence(*type) : std::string{});
  if (decoded) {
    into.number(0);
  } else {
    add_field(into, asked.headers(), "Content-Encoding");
  }
  // The preconditions change what the request means (M-06); everything else about headers may
  // differ between honest attempts (C38).
  for (const char* name : {"If-Match", "If-None-Match", "If-Unmodified-Since"}) {
    add_field(into, asked.headers(), name);
  }
  add_body(into, asked, *by, body);
  return fingerprint{rule, into.finish()};
}

}  // namespace callonce
