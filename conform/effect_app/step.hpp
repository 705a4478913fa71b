#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <conform/http/message.hpp>

namespace conform {

/// What one run does and answers; a request's JSON body or a script says it.
///
/// `{"do": KIND, "status": 201, "headers": [[NAME, VALUE], …], "body": TEXT, "size": BYTES,
///   "framing": "length" | "chunked" | "close", "trailers": [[NAME, VALUE], …],
///   "hints": [[NAME, VALUE], …], "pause_ms": 0, "gate": false}`, every member optional.
struct step {
  enum class kind {
    ok,         ///< one whole answer
    sse,        ///< `event: 1`, then (after the gate) `event: 2`, as an event stream
    truncate,   ///< the whole length announced, half of the body sent, connection closed
    reset,      ///< no answer, connection reset
    hang,       ///< no answer until the peer leaves
    upgrade,    ///< 101 when the request carries Upgrade, else an answer
    negotiate,  ///< media type and coding as Accept and Accept-Encoding ask
    store,      ///< keeps `body` as the case's resource
    erase,      ///< forgets the case's resource
    read,       ///< answers the case's resource, else 404
  };
  enum class framing { length, chunked, close };

  kind what = kind::ok;
  int status = 201;
  fields headers;
  std::optional<std::string> body;
  std::optional<std::size_t> size;  ///< a body of `pattern(size)`
  framing frame = framing::length;
  fields trailers;  ///< after a chunked body
  fields hints;     ///< sent first, as a 103
  std::chrono::milliseconds pause{0};
  bool gate = false;  ///< waits until the control channel lets this run go
};

/// Errors: throws std::invalid_argument for what is not a step.
step parse_step(std::string_view json);

}  // namespace conform
