#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>

namespace callonce::testkit {

/// Seeded numbers: equal seeds, equal numbers, on every machine.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : state_(seed) {}

  /// The next 64 bits (splitmix64: one state word, every seed a good one).
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
  }

  /// A number in [0, bound). Pre: bound is above 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

  /// True `percent` times in a hundred.
  bool chance(unsigned percent) noexcept { return below(100) < percent; }

  /// A duration in [least, most].
  template <class Duration>
  Duration between(Duration least, Duration most) noexcept {
    const auto width = static_cast<std::uint64_t>((most - least).count());
    return least + Duration{static_cast<typename Duration::rep>(below(width + 1))};
  }

  /// One of the given values.
  template <class Value>
  Value pick(std::initializer_list<Value> of) noexcept {
    return *(of.begin() + below(of.size()));
  }

 private:
  std::uint64_t state_;
};

}  // namespace callonce::testkit
