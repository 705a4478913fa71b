#include <algorithm>

#include <gateway/routes.hpp>

namespace callonce::gateway {
namespace {

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

// Calls visit(segment, is_last) for each segment of a path that begins with '/'.
template <class Visitor>
void for_each_segment(std::string_view path, Visitor visit) {
  for (path.remove_prefix(1);;) {
    const std::size_t slash = path.find('/');
    visit(path.substr(0, slash), slash == std::string_view::npos);
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::string pattern_mistake(std::string_view pattern) {
  const std::string shown = "'" + std::string{pattern} + "'";
  if (!pattern.starts_with('/')) return shown + " does not start with '/'";
  for (const char c : pattern) {
    if (c <= 0x20 || c == 0x7f) return "the path has a blank or control byte: write it encoded";
  }
  if (pattern.find_first_of("?#") != std::string_view::npos) {
    return shown + " has a query: routes are chosen by the path alone";
  }
  std::string mistake;
  for_each_segment(pattern, [&](std::string_view segment, bool last) {
    if (segment == "*" && !last) mistake = shown + ": '*' stands for the rest, so it must be last";
    if (segment == "*" || is_parameter(segment)) return;
    if (segment.find_first_of("{}*") != std::string_view::npos) {
      mistake = shown + ": '" + std::string{segment} +
                "' is neither literal nor {name}: a whole segment is one or the other";
    }
  });
  return mistake;
}

std::string shape_of(std::string_view pattern) {
  std::string shape;
  for_each_segment(pattern, [&](std::string_view segment, bool) {
    shape.append("/").append(is_parameter(segment) ? "{}" : segment);
  });
  return shape;
}

struct route_table::node {
  std::vector<std::pair<std::string, std::unique_ptr<node>>> literals;  ///< Sorted by segment.
  std::unique_ptr<node> parameter;
  std::size_t here = none;  ///< The pattern that ends here.
  std::size_t rest = none;  ///< The pattern whose `*` stands here.

  node& literal(std::string_view segment) {
    auto found = lower_bound(segment);
    if (found == literals.end() || found->first != segment) {
      found = literals.emplace(found, segment, std::make_unique<node>());
    }
    return *found->second;
  }
  const node* find(std::string_view segment) const noexcept {
    const auto found = const_cast<node*>(this)->lower_bound(segment);
    return found != literals.end() && found->first == segment ? found->second.get() : nullptr;
  }
  decltype(literals)::iterator lower_bound(std::string_view segment) {
    return std::lower_bound(
        literals.begin(), literals.end(), segment,
        [](const auto& entry, std::string_view text) { return entry.first < text; });
  }
};

route_table::route_table() : root_(std::make_unique<node>()) {}
route_table::~route_table() = default;
route_table::route_table(route_table&&) noexcept = default;
route_table& route_table::operator=(route_table&&) noexcept = default;

void route_table::add(std::string_view pattern, std::size_t index) {
  node* at = root_.get();
  for_each_segment(pattern, [&](std::string_view segment, bool last) {
    if (segment == "*") {
      at->rest = index;
      return;
    }
    if (is_parameter(segment)) {
      if (!at->parameter) at->parameter = std::make_unique<node>();
      at = at->parameter.get();
    } else {
      at = &at->literal(segment);
    }
    if (last) at->here = index;
  });
}

std::size_t route_table::match(std::string_view target) const noexcept {
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  if (!path.starts_with('/')) return none;
  return match(*root_, path);
}

// `rest` begins with the '/' before the next segment, or is empty behind the last one. Every node
// is visited at most once, so that no path costs more than the table is large.
std::size_t route_table::match(const node& at, std::string_view rest) noexcept {
  if (rest.empty()) return at.here;
  const std::size_t slash = std::min(rest.find('/', 1), rest.size());
  const std::string_view segment = rest.substr(1, slash - 1);
  const std::string_view behind = rest.substr(slash);
  if (const node* literal = at.find(segment)) {
    if (const std::size_t found = match(*literal, behind); found != none) return found;
  }
  if (at.parameter && !segment.empty()) {
    if (const std::size_t found = match(*at.parameter, behind); found != none) return found;
  }
  return at.rest;
}

}  // namespace callonce::gateway
