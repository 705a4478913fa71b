#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <gateway/address.hpp>
#include <sys/un.h>

namespace callonce::gateway {
namespace {

using ip_bytes = std::array<std::uint8_t, 16>;

// IPv4 addresses as IPv6 ones, so that a dual-stack socket's peers are recognised too.
constexpr int v4_prefix_bits = 96;
constexpr ip_bytes v4_mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};

std::optional<ip_bytes> parse_ip(const std::string& text) {
  ip_bytes bytes = v4_mapped;
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

bool is_v4(const ip_bytes& bytes) {
  return std::equal(bytes.begin(), bytes.begin() + 12, v4_mapped.begin());
}

bool is_any(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* last = text.data() + text.size();
  const auto [end, fault] = std::from_chars(text.data(), last, value);
  if (fault != std::errc{} || end != last) return std::nullopt;
  return value;
}

endpoint_or_mistake parse_unix(std::string_view path) {
  if (path.empty()) return "no path behind unix: : write unix:PATH";
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return "the path of a UNIX socket has at most 107 bytes: use a shorter one";
  }
  endpoint made;
  made.path = path;
  return made;
}

// HOST:PORT with IPv6 addresses in brackets; without a port, `port` is `missing_port`.
struct host_port {
  std::string host;
  std::optional<std::string_view> port;
};
std::optional<host_port> split(std::string_view text) {
  host_port parts;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    parts.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
  } else {
    const std::size_t colon = text.find(':');
    if (colon != text.rfind(':')) return std::nullopt;
    parts.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (!rest.empty()) parts.port = rest.substr(1);
  if (parts.host.empty()) return std::nullopt;
  return parts;
}

bool is_host_name(std::string_view text) {
  return text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '.' || c == '_';
         });
}

}  // namespace

std::string to_text(const endpoint& where) {
  if (where.is_unix()) return "unix:" + where.path;
  const bool brackets = where.host.find(':') != std::string::npos;
  return (brackets ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

endpoint_or_mistake parse_listener(std::string_view text) {
  constexpr std::string_view scheme = "unix:";
  if (text.starts_with(scheme)) return parse_unix(text.substr(scheme.size()));
  const std::string shown = "'" + std::string{text} + "'";
  const auto parts = split(text);
  if (!parts || !parts->port) {
    return shown + " is no listener: write ADDRESS:PORT, e.g. 127.0.0.1:8080, or unix:PATH";
  }
  if (!parse_ip(parts->host)) {
    return "'" + parts->host + "' is no numeric address: write e.g. 127.0.0.1, 0.0.0.0 or [::1]";
  }
  const auto port = parse_number<std::uint16_t>(*parts->port);
  if (!port) return shown + " has no port between 0 and 65535 behind the colon";
  endpoint made;
  made.host = parts->host;
  made.port = *port;
  return made;
}

endpoint_or_mistake parse_upstream(std::string_view text) {
  constexpr std::string_view unix_scheme = "unix:";
  constexpr std::string_view scheme = "http://";
  if (text.starts_with(unix_scheme)) return parse_unix(text.substr(unix_scheme.size()));
  if (text.starts_with("https://")) {
    return "TLS to the application is not spoken: TLS ends in front of callonce, "
           "so write http:// and keep this hop on a private network";
  }
  const std::string shown = "'" + std::string{text} + "'";
  if (!text.starts_with(scheme)) {
    return shown + " is no upstream: write http://HOST:PORT or unix:PATH";
  }
  std::string_view authority = text.substr(scheme.size());
  if (authority.ends_with('/')) authority.remove_suffix(1);
  if (authority.find_first_of("/?#") != std::string_view::npos) {
    return shown + " has a path: write http://HOST:PORT only, since paths pass unchanged";
  }
  if (authority.find('@') != std::string_view::npos) {
    return "an upstream takes no user name or password: write http://HOST:PORT only";
  }
  const auto parts = split(authority);
  if (!parts || !(is_host_name(parts->host) || parse_ip(parts->host))) {
    return shown + " has no host: write http://HOST:PORT";
  }
  endpoint made;
  made.host = parts->host;
  made.port = 80;
  if (parts->port) {
    const auto port = parse_number<std::uint16_t>(*parts->port);
    if (!port || *port == 0) return shown + " has no port between 1 and 65535 behind the colon";
    made.port = *port;
  }
  return made;
}

bool is_local(const endpoint& where) {
  if (where.is_unix()) return true;
  const auto bytes = parse_ip(where.host);
  if (!bytes) return where.host == "localhost";
  if (is_v4(*bytes)) return (*bytes)[12] == 127;
  return where.host == "::1";
}

bool collide(const endpoint& left, const endpoint& right) {
  if (left.is_unix() || right.is_unix()) return left.path == right.path;
  if (left.port != right.port || left.port == 0) return false;
  return left.host == right.host || is_any(left.host) || is_any(right.host);
}

bool hop_list::add(std::string_view text) {
  if (text == "unix") {
    unix_ = true;
  } else {
    const std::size_t slash = text.find('/');
    const std::string host{text.substr(0, slash)};
    const auto address = parse_ip(host);
    if (!address) return false;
    network made{*address, 128};
    if (slash != std::string_view::npos) {
      const bool v4 = host.find(':') == std::string::npos;
      const auto bits = parse_number<int>(text.substr(slash + 1));
      if (!bits || *bits < 0 || *bits > (v4 ? 32 : 128)) return false;
      made.bits = *bits + (v4 ? v4_prefix_bits : 0);
    }
    networks_.push_back(made);
  }
  texts_.emplace_back(text);
  return true;
}

bool hop_list::contains(std::string_view peer) const {
  if (peer == "unix") return unix_;
  if (networks_.empty()) return false;
  const auto address = parse_ip(std::string{peer});
  if (!address) return false;
  return std::any_of(networks_.begin(), networks_.end(), [&](const network& in) {
    const auto whole = static_cast<std::size_t>(in.bits / 8);
    if (std::memcmp(address->data(), in.address.data(), whole) != 0) return false;
    const int rest = in.bits % 8;
    if (rest == 0) return true;
    const int mask = 0xff << (8 - rest) & 0xff;
    return ((*address)[whole] & mask) == (in.address[whole] & mask);
  });
}

}  // namespace callonce::gateway
