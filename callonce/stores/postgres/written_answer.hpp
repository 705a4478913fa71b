#pragma once

// Internal: an answer as its columns hold it (form 1).

#include <optional>
#include <string>
#include <string_view>

#include <callonce/core/codec.hpp>

namespace callonce::postgres::detail {

/// Pre: `from` outlives it.
struct written_answer {
  explicit written_answer(const stored_answer& from)
      : small(compress_body(from)),
        head(encode_head(from, small ? body_coding::zstd : body_coding::plain)),
        body(small ? std::string_view{*small} : from.body.text()) {}
  written_answer(const written_answer&) = delete;
  written_answer& operator=(const written_answer&) = delete;

  std::optional<std::string> small;
  std::string head;
  std::string_view body;  ///< Empty: there is none.
};

}  // namespace callonce::postgres::detail
