#pragma once

// Internal: the parameters of a statement, in the binary format.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callonce/core/record.hpp>

namespace callonce::postgres::detail {

/// One array of a statement over many rows; elements are added one by one.
class array {
 public:
  enum class of : std::uint32_t {  // OIDs of the element types; they never change.
    boolean = 16,
    bytes = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    text = 25,
    uuid = 2950
  };

  explicit array(of elements);

  void add(std::int64_t number);
  void add(bool value);
  void add(std::string_view bytes);
  void add(std::span<const std::byte> bytes);
  void add_null();

  /// The whole array as the server reads it.
  const std::string& finish();

 private:
  std::uint32_t size_of_number() const;

  of elements_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string bytes_;
};

/// A statement with its parameters; it owns them.
struct message {
  message() = default;
  explicit message(std::string text) : sql(std::move(text)) {}

  std::string sql;
  std::vector<std::optional<std::string>> parameters;  ///< In the binary format; absent: null.

  message& with(array values);
  message& with(std::string bytes);
  message& with_number(std::int64_t number);  ///< For $n::bigint.
  message& with_null();
};

/// A number as the server reads it, highest byte first.
void append_number(std::string& into, std::uint64_t value, unsigned bytes);

/// UTF-8 without zero bytes, which is all that a text column takes: anything else becomes '?'.
std::string as_text(std::string_view bytes);

}  // namespace callonce::postgres::detail
