#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace callonce::gateway {

/// What is wrong with a path pattern and what to write instead; empty: nothing.
/// A pattern is `/` followed by segments: literal, `{name}` for any one that is not empty, and as
/// the last one `*` for the rest.
std::string pattern_mistake(std::string_view pattern);

/// The pattern without the names: two patterns of one shape match the same paths.
/// Pre: `pattern_mistake` is empty.
std::string shape_of(std::string_view pattern);

/// The route table: which pattern a request's target belongs to.
/// Threads: any, once built.
class route_table {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  route_table();
  ~route_table();
  route_table(route_table&&) noexcept;
  route_table& operator=(route_table&&) noexcept;

  /// Pre: a right pattern, of a shape that is not in the table yet.
  void add(std::string_view pattern, std::size_t index);

  /// The index of the most specific pattern, segment by segment: literal before `{name}` before
  /// `*`; the query does not count. `none` when no pattern matches. Allocates nothing.
  std::size_t match(std::string_view target) const noexcept;

 private:
  struct node;
  static std::size_t match(const node& at, std::string_view rest) noexcept;
  std::unique_ptr<node> root_;
};

}  // namespace callonce::gateway
