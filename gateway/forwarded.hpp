#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <callonce/core/message.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// Makes ids for requests that come without one: unique, not secret.
/// Threads: one executor.
class request_ids {
 public:
  /// Randomness is taken once; after that an id costs a count.
  explicit request_ids(environment& in);
  std::string next();

 private:
  std::string prefix_;
  std::uint64_t count_ = 0;
};

/// The request's own `X-Request-Id`, or a new one.
std::string request_id_of(const request& head, request_ids& ids);

/// Turns the header lines of a client's request into what the application is to see: end-to-end
/// lines in order, `Host` unchanged, less the ones by which somebody could pose as this gateway;
/// `Via`, `X-Forwarded-*` and `X-Request-Id` added. A `Content-Length` stays.
/// `traceparent` passes and is never made up: a hop that records no spans must not decide whether
/// a trace is sampled.
/// Pre: called once, after the key and the scope were read; `head.from_trusted_hop()` is set.
/// Source: design section 8; RFC 9110 sections 7.6.1 and 7.6.3; A-06, C92, D-69, G-11.
void prepare_for_application(request& head, std::string_view peer, std::string_view request_id);

/// Adds `Via`, and `X-Request-Id` unless the application gave one, to an answer for the client.
void mark_for_client(response& answer, std::string_view request_id);

}  // namespace callonce::gateway
