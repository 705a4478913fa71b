#include <array>
#include <charconv>

#include <gateway/units.hpp>

namespace callonce::gateway {
namespace {

struct unit {
  std::string_view name;
  std::int64_t worth;
};

// Largest first, so that the first one that divides a value spells it shortest.
constexpr std::array durations{unit{"d", 86'400'000}, unit{"h", 3'600'000}, unit{"m", 60'000},
                               unit{"s", 1000}, unit{"ms", 1}};
constexpr std::array sizes{unit{"GiB", std::int64_t{1} << 30}, unit{"MiB", std::int64_t{1} << 20},
                           unit{"KiB", std::int64_t{1} << 10}, unit{"B", 1}};

// Longer than any record is kept; far from the ends of every clock.
constexpr std::int64_t duration_max = std::int64_t{3650} * 86'400'000;
constexpr std::int64_t size_max = std::int64_t{1} << 40;

template <std::size_t N>
std::optional<std::int64_t> parse(std::string_view text, const std::array<unit, N>& units,
                                  std::string_view bare, std::int64_t max) {
  std::int64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc{} || count < 0) return std::nullopt;
  std::string_view name{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  if (name.empty()) {
    if (count == 0) return 0;
    name = bare;
  }
  for (const unit& each : units) {
    if (each.name != name) continue;
    if (count > max / each.worth) return std::nullopt;
    return count * each.worth;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string spell(std::int64_t value, const std::array<unit, N>& units, std::string_view zero) {
  if (value == 0) return std::string{zero};
  for (const unit& each : units) {
    if (value % each.worth == 0) return std::to_string(value / each.worth).append(each.name);
  }
  return {};
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto value = parse(text, durations, "", duration_max);
  if (!value) return std::nullopt;
  return std::chrono::milliseconds{*value};
}

std::string to_text(std::chrono::milliseconds length) {
  return spell(length.count(), durations, "0s");
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto value = parse(text, sizes, "B", size_max);
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::string size_text(std::uint64_t bytes) {
  return spell(static_cast<std::int64_t>(bytes), sizes, "0B");
}

}  // namespace callonce::gateway
