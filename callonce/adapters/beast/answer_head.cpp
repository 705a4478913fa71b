#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include <boost/beast/http/status.hpp>

#include <callonce/adapters/beast/answer_head.hpp>
#include <callonce/adapters/beast/framing.hpp>
#include <callonce/core/replay.hpp>

namespace callonce::beast::detail {
namespace {

bool never_has_body(int status) noexcept {
  return status < 200 || status == 204 || status == 304;
}

void append_number(std::string& to, std::uint64_t number) {
  char digits[20];
  to.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

// A status that Beast does not know has no phrase, and needs none (RFC 9112 section 4).
std::string_view phrase_of(int status) {
  if (status == 103) return "Early Hints";
  if (status == 425) return "Too Early";
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  if (known == boost::beast::http::status::unknown) return {};
  const auto phrase = boost::beast::http::obsolete_reason(known);
  return {phrase.data(), phrase.size()};
}

void append_status_line(std::string& to, int status) {
  const std::string_view phrase = phrase_of(status);
  to += "HTTP/1.1 ";
  append_number(to, static_cast<std::uint64_t>(status));
  to += ' ';
  to.append(phrase);
  to += "\r\n";
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void append_line(std::string& to, std::string_view name, std::string_view value) {
  if (name.empty() || !is_one_line(name) || !is_one_line(value)) return;
  to += name;
  to += ": ";
  to += value;
  to += "\r\n";
}

// The fields an answer's own Connection names; they went as far as they may.
std::vector<std::string_view> nominated_by(const header_list& headers) {
  std::vector<std::string_view> names;
  for (const field& line : headers) {
    if (!same_name(line.name, "Connection")) continue;
    for_each_token(line.value, [&](std::string_view name) { names.push_back(name); });
  }
  return names;
}

// Post: whether a Date was among them.
bool append_fields(std::string& to, const header_list& headers) {
  const std::vector<std::string_view> nominated = nominated_by(headers);
  bool has_date = false;
  for (const field& line : headers) {
    if (is_hop_by_hop(line.name) || same_name(line.name, "Content-Length")) continue;
    bool named = false;
    for (const std::string_view name : nominated) named = named || same_name(name, line.name);
    if (named) continue;
    has_date = has_date || same_name(line.name, "Date");
    append_line(to, line.name, line.value);
  }
  return has_date;
}

void append_trailer_names(std::string& to, const header_list& trailers) {
  if (trailers.empty()) return;
  std::string names;
  for (const field& line : trailers) names.append(names.empty() ? "" : ", ").append(line.name);
  append_line(to, "Trailer", names);
}

void append_connection(std::string& to, const response& said, const answer_frame& frame,
                       const asker& by) {
  const std::string* const upgrade = said.headers().find("Upgrade");
  if (said.status() == 101 && upgrade != nullptr) {
    append_line(to, "Upgrade", *upgrade);
    to += "Connection: Upgrade\r\n";
  } else if (!frame.keep_alive) {
    to += "Connection: close\r\n";
  } else if (!by.http_1_1) {
    to += "Connection: keep-alive\r\n";
  }
}

}  // namespace

answer_frame frame_answer(const answer& said, const asker& by) {
  answer_frame made;
  made.keep_alive = by.keep_alive;
  const response& head = said.head;
  std::uint64_t announced = 0;
  const std::string* const text = head.headers().find("Content-Length");
  const bool has_announced = text != nullptr && head.headers().count("Content-Length") == 1 &&
                             parse_length(*text, announced);
  if (by.is_head || never_has_body(head.status())) {
    // What the same answer would have announced elsewhere may be said; nothing is invented.
    const bool may_say = head.status() >= 200 && head.status() != 204;
    const bool held = !head.content().empty() && said.rest == nullptr;
    made.has_length = may_say && (has_announced || (held && by.is_head));
    made.length = held ? head.content().size() : announced;
    return made;
  }
  const bool with_trailers =
      said.rest == nullptr && !head.trailers().empty() && by.takes_trailers && by.http_1_1;
  if (!with_trailers && (said.rest == nullptr || has_announced)) {
    made.kind = answer_frame::body::length;
    made.has_length = true;
    made.length = said.rest == nullptr ? head.content().size() : announced;
    return made;
  }
  made.kind = by.http_1_1 ? answer_frame::body::chunked : answer_frame::body::until_close;
  if (!by.http_1_1) made.keep_alive = false;
  return made;
}

void append_head(std::string& to, const response& said, const answer_frame& frame, const asker& by,
                 std::string_view date_line) {
  append_status_line(to, said.status());
  if (!append_fields(to, said.headers())) to += date_line;
  if (frame.has_length) {
    to += "Content-Length: ";
    append_number(to, frame.length);
    to += "\r\n";
  }
  if (frame.kind == answer_frame::body::chunked) {
    to += "Transfer-Encoding: chunked\r\n";
    if (by.takes_trailers) append_trailer_names(to, said.trailers());
  }
  append_connection(to, said, frame, by);
  to += "\r\n";
}

void append_interim(std::string& to, const response& said) {
  append_status_line(to, said.status());
  append_fields(to, said.headers());
  to += "\r\n";
}

void append_last_chunk(std::string& to, const header_list& trailers) {
  to += "0\r\n";
  for (const field& line : trailers) append_line(to, line.name, line.value);
  to += "\r\n";
}

std::string_view chunk_header(std::size_t size, char (&into)[20]) {
  char* end = std::to_chars(std::begin(into), std::end(into) - 2, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return {into, static_cast<std::size_t>(end - into)};
}

}  // namespace callonce::beast::detail
