#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <conform/http/wire.hpp>

namespace conform {

/// Header or trailer lines in the order of the wire, values without surrounding white space.
using fields = std::vector<std::pair<std::string, std::string>>;

/// Every value of the lines with this name, any case, in order.
std::vector<std::string> values(const fields& lines, std::string_view name);
/// The first such value, or the empty string.
std::string value(const fields& lines, std::string_view name);
bool has(const fields& lines, std::string_view name);
/// True when a comma-separated field names this element, any case.
bool lists(const fields& lines, std::string_view name, std::string_view element);

/// A request as its bytes will be; nothing in it is checked, so that rows can send what is wrong.
struct request {
  std::string method = "POST";
  std::string target = "/";
  fields headers;
  std::string body;
  bool chunked = false;
  fields trailers;  ///< sent only with `chunked`

  request& set(std::string_view name, std::string text);
  request& add(std::string_view name, std::string text);
  request& drop(std::string_view name);
  /// The bytes, framed by Content-Length or in chunks; values are written as they are.
  std::string bytes() const;
};

/// What came back for one request.
struct reply {
  int status = 0;  ///< 0 when no status line came
  fields headers;
  std::string body;
  fields trailers;
  std::vector<std::pair<int, fields>> interim;  ///< 1xx answers before the final one
  bool complete = false;                        ///< the framing's end was reached
  std::string error;                            ///< why it is not complete
  steady::duration took{};

  std::string get(std::string_view name) const { return value(headers, name); }
  bool replayed() const { return get("Idempotent-Replayed") == "true"; }
};

/// A request as a server received it.
struct received {
  std::string method;
  std::string target;
  fields headers;
  std::string body;
  fields trailers;
};

/// Reads lines up to the empty one. Errors: false when the stream ends or a line has no colon.
bool read_fields(wire& from, fields& into);

/// Status line and fields of the next final answer, interim ones collected; false when none came.
bool read_reply_head(wire& from, reply& into);
/// The body that belongs to a head, by its framing.
void read_reply_body(wire& from, std::string_view method, reply& into);
/// Head and body.
reply read_reply(wire& from, std::string_view method);

/// Request line and fields; false at the end of the connection.
bool read_request_head(wire& from, received& into);
bool read_request_body(wire& from, received& into);

/// One client connection with a deadline for each answer.
class connection {
 public:
  explicit connection(std::uint16_t port) : wire_(wire::connect(port)) {}
  bool send(const request& one) { return wire_.write(one.bytes()); }
  reply receive(std::string_view method = "POST",
                steady::duration patience = std::chrono::seconds(20));
  reply exchange(const request& one, steady::duration patience = std::chrono::seconds(20));
  wire& raw() { return wire_; }

 private:
  wire wire_;
};

/// One request on a connection of its own.
reply exchange(std::uint16_t port, const request& one,
               steady::duration patience = std::chrono::seconds(20));

/// `size` bytes with every value in them, zero too, the same on both sides of the wire.
std::string pattern(std::size_t size);

}  // namespace conform
