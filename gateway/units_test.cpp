#include <gateway/units.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

TEST(units, durations_are_read_in_every_unit) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("5s"), 5s);
  EXPECT_EQ(parse_duration("1m"), 1min);
  EXPECT_EQ(parse_duration("24h"), 24h);
  EXPECT_EQ(parse_duration("7d"), 168h);
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("0s"), 0ms);
}

TEST(units, what_is_no_duration_is_refused) {
  for (const char* text : {"", "5", "s", "5 s", "-5s", "1.5s", "5S", "5sec", "1m30s", "99999d",
                           "9223372036854775807s", "99999999999999999999s", "+5s", "5s "}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(units, sizes_are_read_in_every_unit) {
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("512B"), 512U);
  EXPECT_EQ(parse_size("32KiB"), 32768U);
  EXPECT_EQ(parse_size("1MiB"), 1048576U);
  EXPECT_EQ(parse_size("2GiB"), 2147483648U);
}

TEST(units, what_is_no_size_is_refused) {
  for (const char* text : {"", "KiB", "1KB", "1kib", "1M", "-1", "1.5MiB", "9999GiB", "1 KiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(units, what_is_shown_is_read_back) {
  for (const auto length : {0ms, 1ms, 999ms, 1000ms, 90'000ms, 3'600'000ms, 604'800'000ms}) {
    EXPECT_EQ(parse_duration(to_text(length)), length);
  }
  EXPECT_EQ(to_text(168h), "7d");
  EXPECT_EQ(to_text(90s), "90s");
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 67108864ULL}) {
    EXPECT_EQ(parse_size(size_text(bytes)), bytes);
  }
  EXPECT_EQ(size_text(67108864), "64MiB");
}

}  // namespace
}  // namespace callonce::gateway
