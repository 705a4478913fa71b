#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <callonce/engine/engine.hpp>

namespace callonce::beast {

/// Answers a request that Beast has read, for programs with a session loop of their own.
/// Beast merges trailers into the header fields and accepts framings that other servers read
/// differently; `server` does neither.
/// Errors: throws boost::system::system_error when the answer's body was cut off: close the
/// connection, so that the client sees the break.
asio::awaitable<boost::beast::http::response<boost::beast::http::string_body>> answer(
    route& by, boost::beast::http::request<boost::beast::http::string_body> asked);

}  // namespace callonce::beast
