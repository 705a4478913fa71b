#include <algorithm>
#include <charconv>

#include <callonce/adapters/beast/framing.hpp>

namespace callonce::beast::detail {

head_scan::state head_scan::refuse(std::string_view why) {
  reason_ = why;
  return state::malformed;
}

head_scan::state head_scan::look(std::string_view bytes) {
  // Whatever begins with a control byte is not HTTP: TLS sent to a plain port, for one.
  if (!bytes.empty() && static_cast<unsigned char>(bytes.front()) <= ' ') return refuse("not_http");
  for (;;) {
    const bool at_later_line = line_ != 0 && line_ < bytes.size();
    if (at_later_line && (bytes[line_] == ' ' || bytes[line_] == '\t')) return refuse("obs_fold");
    const std::size_t feed = bytes.find('\n', seen_);
    if (feed == std::string_view::npos) {
      seen_ = bytes.size();
      return state::more;
    }
    if (feed == line_ || bytes[feed - 1] != '\r') return refuse("bare_line_feed");
    const bool empty_line = feed == line_ + 1;
    line_ = seen_ = feed + 1;
    if (empty_line) return state::whole;
  }
}

bool parse_length(std::string_view digits, std::uint64_t& into) noexcept {
  const bool plain = !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  if (!plain) return false;
  return std::from_chars(digits.data(), digits.data() + digits.size(), into).ec == std::errc{};
}

namespace {

bool is_host(std::string_view value) noexcept {
  return value.find_first_of(" \t,/@?#\\") == std::string_view::npos;
}

// What the fields of one head have said so far.
struct reading {
  bool close = false;
  bool keep_alive = false;
  bool expects_continue = false;
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  framing said;

  void connection(std::string_view options) {
    for_each_token(options, [&](std::string_view option) {
      if (same_name(option, "close")) close = true;
      if (same_name(option, "keep-alive")) keep_alive = true;
      // Taken at its word, the key would end at this hop and the request run unprotected.
      if (same_name(option, "Idempotency-Key")) said.refusal = "key_in_connection";
    });
  }

  void take(const field& line) {
    const std::string_view name = line.name;
    if (same_name(name, "Host")) {
      ++hosts;
      if (!is_host(line.value)) said.refusal = "host";
    } else if (same_name(name, "Connection")) {
      connection(line.value);
    } else if (same_name(name, "Content-Length")) {
      ++lengths;
      if (!parse_length(line.value, said.content_length)) said.refusal = "content_length";
    } else if (same_name(name, "Transfer-Encoding")) {
      ++codings;
      if (!same_name(line.value, "chunked")) said.refusal = "transfer_encoding";
    } else if (same_name(name, "TE")) {
      for_each_token(line.value, [&](std::string_view coding) {
        if (same_name(coding, "trailers")) said.takes_trailers = true;
      });
    } else if (same_name(name, "Expect")) {
      expects_continue = same_name(line.value, "100-continue");
    }
  }
};

}  // namespace

framing judge_framing(bool http_1_1, const header_list& headers) {
  reading all;
  for (const field& line : headers) all.take(line);
  framing& said = all.said;
  if (all.hosts > 1 || (http_1_1 && all.hosts == 0)) said.refusal = "host";
  if (all.lengths > 1) said.refusal = "content_length";
  if (all.codings > 1 || (all.codings != 0 && !http_1_1)) said.refusal = "transfer_encoding";
  if (all.codings != 0 && all.lengths != 0) said.refusal = "two_framings";
  said.chunked = all.codings != 0;
  said.keep_alive = !all.close && (http_1_1 || all.keep_alive);
  said.expects_continue = http_1_1 && all.expects_continue && said.has_body();
  return said;
}

}  // namespace callonce::beast::detail
