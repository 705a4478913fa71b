#pragma once

#include <functional>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <gateway/upstream.hpp>

#include <callonce/adapters/beast/server.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// Adds to an answer what every answer of this gateway carries.
using answer_marks = std::function<void(response&)>;

/// Passes an exchange that needs no record on to the application: both bodies stream unbuffered,
/// interim answers go to the client, an honoured `Upgrade` becomes a byte tunnel that lives until
/// both sides have ended. A client that leaves closes the connection to the application.
/// An application that cannot be reached, or breaks before its answer begins, is answered 502; one
/// that breaks later cuts the client's connection.
/// Pre: nothing of the exchange was read but its head, and `from_trusted_hop` is set in it.
/// Post: the status of the answer; 0 where the client did not get the whole of it.
/// Source: design section 8; D-49, G-07, G-08, G-11, C93.
[[nodiscard]] asio::awaitable<int> pass_through(beast::exchange& client, upstream& to,
                                                std::string_view request_id,
                                                const problem_form& problems,
                                                const answer_marks& mark, environment& in);

}  // namespace callonce::gateway
