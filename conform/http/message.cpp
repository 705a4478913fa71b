#include <algorithm>
#include <cctype>
#include <charconv>

#include <conform/http/message.hpp>

namespace conform {
namespace {

bool same_name(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool number(std::string_view text, int base, std::size_t& into) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return problem == std::errc{} && end == text.data() + text.size();
}

bool read_chunked(wire& from, std::string& body, fields& trailers) {
  for (;;) {
    const auto head = from.line();
    std::size_t size = 0;
    if (!head || !number(trimmed(std::string_view{*head}.substr(0, head->find(';'))), 16, size)) {
      return false;
    }
    if (size == 0) return read_fields(from, trailers);
    if (!from.read(size, body)) return false;
    const auto end = from.line();
    if (!end || !end->empty()) return false;
  }
}

bool bodyless(std::string_view method, int status) {
  return method == "HEAD" || status == 204 || status == 304 || status < 200;
}

}  // namespace

std::vector<std::string> values(const fields& lines, std::string_view name) {
  std::vector<std::string> found;
  for (const auto& [line_name, text] : lines) {
    if (same_name(line_name, name)) found.push_back(text);
  }
  return found;
}

std::string value(const fields& lines, std::string_view name) {
  for (const auto& [line_name, text] : lines) {
    if (same_name(line_name, name)) return text;
  }
  return {};
}

bool has(const fields& lines, std::string_view name) {
  return !values(lines, name).empty();
}

bool lists(const fields& lines, std::string_view name, std::string_view element) {
  for (const auto& text : values(lines, name)) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      if (same_name(trimmed(rest.substr(0, comma)), element)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

request& request::set(std::string_view name, std::string text) {
  return drop(name).add(name, std::move(text));
}

request& request::add(std::string_view name, std::string text) {
  headers.emplace_back(name, std::move(text));
  return *this;
}

request& request::drop(std::string_view name) {
  std::erase_if(headers, [name](const auto& line) { return same_name(line.first, name); });
  return *this;
}

std::string request::bytes() const {
  std::string out = method + " " + target + " HTTP/1.1\r\n";
  if (!has(headers, "Host")) out += "Host: conform.test\r\n";
  for (const auto& [name, text] : headers) out += name + ": " + text + "\r\n";
  if (!chunked) {
    if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
      out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return out + "\r\n" + body;
  }
  out += "Transfer-Encoding: chunked\r\n\r\n";
  if (!body.empty()) {
    char size[17];
    const auto end = std::to_chars(size, size + sizeof size, body.size(), 16).ptr;
    out.append(size, end).append("\r\n").append(body).append("\r\n");
  }
  out += "0\r\n";
  for (const auto& [name, text] : trailers) out += name + ": " + text + "\r\n";
  return out + "\r\n";
}

bool read_fields(wire& from, fields& into) {
  for (;;) {
    const auto line = from.line();
    if (!line) return false;
    if (line->empty()) return true;
    const auto colon = line->find(':');
    if (colon == std::string::npos) return false;
    into.emplace_back(line->substr(0, colon), trimmed(std::string_view{*line}.substr(colon + 1)));
  }
}

bool read_reply_head(wire& from, reply& into) {
  for (;;) {
    const auto line = from.line();
    std::size_t status = 0;
    if (!line || line->size() < 12 || line->compare(0, 7, "HTTP/1.") != 0 ||
        !number(std::string_view{*line}.substr(9, 3), 10, status)) {
      into.error = line ? "not a status line: " + *line : std::string{from.why()};
      return false;
    }
    fields lines;
    if (!read_fields(from, lines)) {
      into.error = "head not ended";
      return false;
    }
    if (status >= 200 || status == 101) {
      into.status = static_cast<int>(status);
      into.headers = std::move(lines);
      return true;
    }
    into.interim.emplace_back(static_cast<int>(status), std::move(lines));
  }
}

void read_reply_body(wire& from, std::string_view method, reply& into) {
  std::size_t length = 0;
  if (bodyless(method, into.status)) {
    into.complete = true;
  } else if (lists(into.headers, "Transfer-Encoding", "chunked")) {
    into.complete = read_chunked(from, into.body, into.trailers);
  } else if (has(into.headers, "Content-Length")) {
    into.complete = values(into.headers, "Content-Length").size() == 1 &&
                    number(into.get("Content-Length"), 10, length) && from.read(length, into.body);
  } else {
    while (from.read_some(into.body)) {
    }
    into.complete = from.why() == "ended";
  }
  if (!into.complete) into.error = "body: " + std::string{from.why()};
}

reply read_reply(wire& from, std::string_view method) {
  reply answer;
  if (read_reply_head(from, answer)) read_reply_body(from, method, answer);
  return answer;
}

bool read_request_head(wire& from, received& into) {
  const auto line = from.line();
  if (!line) return false;
  const auto first = line->find(' ');
  const auto last = line->rfind(' ');
  if (first == std::string::npos || last <= first) return false;
  into.method = line->substr(0, first);
  into.target = line->substr(first + 1, last - first - 1);
  return read_fields(from, into.headers);
}

bool read_request_body(wire& from, received& into) {
  if (lists(into.headers, "Transfer-Encoding", "chunked")) {
    return read_chunked(from, into.body, into.trailers);
  }
  std::size_t length = 0;
  const std::string text = value(into.headers, "Content-Length");
  return text.empty() || (number(text, 10, length) && from.read(length, into.body));
}

reply connection::receive(std::string_view method, steady::duration patience) {
  const auto start = steady::now();
  wire_.deadline(start + patience);
  reply answer = read_reply(wire_, method);
  answer.took = steady::now() - start;
  return answer;
}

reply connection::exchange(const request& one, steady::duration patience) {
  const auto start = steady::now();
  wire_.deadline(start + patience);
  // An answer may have come although the request could not be written to its end.
  send(one);
  reply answer = receive(one.method, patience);
  answer.took = steady::now() - start;
  return answer;
}

reply exchange(std::uint16_t port, const request& one, steady::duration patience) {
  return connection{port}.exchange(one, patience);
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    // 251 is prime, so that no power-of-two shift of the bytes looks like the bytes.
    bytes[i] = static_cast<char>((i * 31 + i / 251) & 0xff);
  }
  return bytes;
}

}  // namespace conform
