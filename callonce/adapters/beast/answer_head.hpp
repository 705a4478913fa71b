#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <callonce/engine/answer.hpp>

namespace callonce::beast::detail {

/// What of the request, and of the connection, bears on how it is answered.
struct asker {
  bool http_1_1 = true;
  bool is_head = false;
  bool keep_alive = true;
  bool takes_trailers = false;
};

/// How an answer's body is delimited.
struct answer_frame {
  enum class body { none, length, chunked, until_close };
  body kind = body::none;
  std::uint64_t length = 0;  ///< Announced where `has_length`.
  bool has_length = false;
  bool keep_alive = true;
};

/// Source: RFC 9112 section 6.3, RFC 9110 section 8.6; C42.
answer_frame frame_answer(const answer& said, const asker& by);

/// Appends status line and header lines. Fields of the connection, and lines that would not stay
/// one line, are left out; `date_line` is added where the answer has no Date of its own.
void append_head(std::string& to, const response& said, const answer_frame& frame, const asker& by,
                 std::string_view date_line);

/// Appends a complete interim answer.
void append_interim(std::string& to, const response& said);

/// Appends the end of a chunked body, with the lines behind it.
void append_last_chunk(std::string& to, const header_list& trailers);

/// The chunk header before `size` bytes.
std::string_view chunk_header(std::size_t size, char (&into)[20]);

}  // namespace callonce::beast::detail
