#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace callonce::gateway {

/// Where a socket listens or is reached: an address or name with its port, or a path.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string path;  ///< Of a UNIX socket; empty otherwise.

  bool is_unix() const noexcept { return !path.empty(); }
  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// As it is written in the configuration: `ADDRESS:PORT`, `[ADDRESS]:PORT` or `unix:PATH`.
std::string to_text(const endpoint& where);

/// An endpoint, or what is wrong and what to write instead.
using endpoint_or_mistake = std::variant<endpoint, std::string>;

/// Reads `ADDRESS:PORT` or `unix:PATH`; the address is numeric, port 0 lets the kernel choose.
endpoint_or_mistake parse_listener(std::string_view text);
/// Reads `http://HOST[:PORT]` or `unix:PATH`.
endpoint_or_mistake parse_upstream(std::string_view text);

/// Whether only programs of this host can reach it.
bool is_local(const endpoint& where);
/// Whether two listeners cannot both be opened. Port 0 collides with nothing.
bool collide(const endpoint& left, const endpoint& right);

/// The hops in front of the gateway whose word about the client is believed.
class hop_list {
 public:
  /// `text` is an address, a network as ADDRESS/BITS, or `unix`.
  /// Errors: false when it is none of these.
  bool add(std::string_view text);
  /// `peer` is an address without port, or "unix".
  bool contains(std::string_view peer) const;
  bool empty() const noexcept { return networks_.empty() && !unix_; }
  const std::vector<std::string>& texts() const noexcept { return texts_; }

 private:
  struct network {
    std::array<std::uint8_t, 16> address;
    int bits;
  };
  std::vector<network> networks_;
  bool unix_ = false;
  std::vector<std::string> texts_;
};

}  // namespace callonce::gateway
