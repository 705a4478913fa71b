#pragma once

#include <span>
#include <string>
#include <string_view>

#include <callonce/core/record.hpp>

namespace callonce {

/// The field that marks a replay: present exactly when another claim completed the record.
inline constexpr std::string_view replayed_field = "Idempotent-Replayed";

/// Whether a field belongs to one connection and is never passed on or stored.
/// Source: RFC 9110 section 7.6.1.
bool is_hop_by_hop(std::string_view name) noexcept;

/// Removes what never reaches a client: connection fields, the ones they name, framing, and the
/// fields by which an application steers callonce.
void strip_for_client(header_list& headers);

/// Removes the lines behind a body that may not stand there, or are not for clients.
/// Source: RFC 9110 section 6.5.1.
void strip_trailers(header_list& trailers);

/// What is kept of an answer: status, end-to-end headers in order less `dropped`, and the body up
/// to `body_max` bytes; beyond it the record is completed without one. Source: semantics 1.9, C40
/// to C44, C109.
stored_answer freeze(const response& answer, std::span<const std::string> dropped,
                     std::uint64_t body_max);

/// The stored answer as a response; with `mark` it says that it is a replay. An application that
/// writes answers itself does not know what no replay may carry: `dropped`.
response thaw(const stored_answer& answer, bool mark, std::span<const std::string> dropped = {});

}  // namespace callonce
