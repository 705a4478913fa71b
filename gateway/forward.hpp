#pragma once

#include <memory>
#include <string>

#include <gateway/upstream.hpp>

#include <callonce/core/policy.hpp>
#include <callonce/engine/answer.hpp>
#include <callonce/engine/engine.hpp>

namespace callonce::gateway {

/// The handler of a protected route: asks the application, at most once, and says what is known of
/// the effect.
///
/// | The application | ends as |
/// |---|---|
/// | could not be reached, no byte was sent | not_executed, 502 `upstream_unreachable` |
/// | was cut off or garbled | indeterminate, 502 `upstream_broken` |
/// | answered 502 or 504 and neither it nor the route says what that means | indeterminate, with it
/// | | answered | that answer |
///
/// The request goes on as it is, with `Idempotency-Claim` and `Idempotency-Attempt` added and
/// `Accept-Encoding: identity`, since its answer may be replayed to any client.
/// Pre: requests were prepared (`prepare_for_application`).
/// Cancellation: `claim::lost` closes the connection to the application.
/// Source: design section 5; D-42, D-63, D-68, X-06, X-07, C91, C93.
handler make_forward(std::shared_ptr<upstream> to, policy by);

/// Asks the application at `path`, with GET and the caller's own header lines, whether he may still
/// read; what is not a 2xx is sent in the replay's place, and an application that cannot be asked
/// has not agreed. Post: empty where `path` is. Source: D-61, A-03.
replay_check make_replay_check(std::shared_ptr<upstream> to, policy by, std::string path);

}  // namespace callonce::gateway
