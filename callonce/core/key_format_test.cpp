#include <gtest/gtest.h>

#include <callonce/core/key_format.hpp>
#include <callonce/core/policy.hpp>

namespace callonce {
namespace {

using namespace std::chrono_literals;

constexpr const char* v4 = "919108f7-52d1-4320-9bac-f847db4148a8";
constexpr const char* v7 = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";  // RFC 9562, appendix A.6
constexpr const char* ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

TEST(KeyFormat, P26EachFormatTakesItsOwn) {
  EXPECT_TRUE(has_format(v4, key_format::uuid) && has_format(v7, key_format::uuid));
  EXPECT_TRUE(has_format(v4, key_format::uuidv4) && !has_format(v7, key_format::uuidv4));
  EXPECT_TRUE(has_format(v7, key_format::uuidv7) && !has_format(v4, key_format::uuidv7));
  EXPECT_TRUE(has_format(ulid, key_format::ulid) && !has_format(v4, key_format::ulid));
  EXPECT_TRUE(has_format("01arz3ndektsv4rrffq69g5fav", key_format::ulid));
  EXPECT_TRUE(has_format("anything at all", key_format::any));
  for (const char* wrong :
       {"", "00000000-0000-0000-0000-000000000000", "919108f7-52d1-4320-9bac-f847db4148a",
        "919108f752d143209bacf847db4148a8", "{919108f7-52d1-4320-9bac-f847db4148a8}",
        "919108f7-52d1-4320-cbac-f847db4148a8", "g19108f7-52d1-4320-9bac-f847db4148a8"}) {
    EXPECT_FALSE(has_format(wrong, key_format::uuidv4)) << wrong;
  }
  EXPECT_FALSE(has_format("81ARZ3NDEKTSV4RRFFQ69G5FAV", key_format::ulid)) << "over 128 bits";
  EXPECT_FALSE(has_format("01ARZ3NDEKTSV4RRFFQ69G5FAU", key_format::ulid)) << "U is no digit";
}

TEST(KeyFormat, T06AKeysTimeIsReadToTheMillisecond) {
  // RFC 9562, appendix A.6: February 22, 2022 2:22:22.00 PM GMT-05:00.
  EXPECT_EQ(creation_of(v7, key_time::uuidv7), wall_time{1645557742000ms});
  // The ULID specification's own example.
  EXPECT_EQ(creation_of(ulid, key_time::ulid), wall_time{1469922850259ms});
  EXPECT_FALSE(creation_of(v4, key_time::uuidv7));
  EXPECT_FALSE(creation_of(v7, key_time::off));
}

TEST(KeyFormat, T08OnlyTheOneFormOfADateIsRead) {
  // RFC 9110, section 5.6.7.
  EXPECT_EQ(parse_fixdate("Sun, 06 Nov 1994 08:49:37 GMT"), wall_time{784111777s});
  EXPECT_EQ(parse_fixdate("Thu, 29 Feb 2024 23:59:60 GMT"), wall_time{1709251200s});
  for (const char* wrong : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                            "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
                            "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Feb 2024 08:49:37 GMT",
                            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
                            "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT "}) {
    EXPECT_FALSE(parse_fixdate(wrong)) << wrong;
  }
}

// The bounds themselves: a dated key is taken while its record must still be there.
TEST(KeyFormat, T07TheWindowEndsASkewBeforeTheRetention) {
  policy_settings is;
  is.scope.emplace("shared");
  is.key_time = key_time::uuidv7;
  is.retention = 1h;
  is.key_retention = 24h;
  const policy by{is};
  const wall_time made{1645557742000ms};
  const auto status = [&](std::chrono::milliseconds later) {
    header_list headers;
    headers.add("Idempotency-Key", v7);
    const auto seen = admit(by, request{"POST", "/", std::move(headers)}, made + later);
    const auto* why = std::get_if<problem>(&seen);
    return why == nullptr ? 200 : default_status(why->code);
  };
  EXPECT_EQ(status(0ms), 200);
  EXPECT_EQ(status(24h - 5min), 200);
  EXPECT_EQ(status(24h - 5min + 1ms), 412);
  EXPECT_EQ(status(-5min), 200);
  EXPECT_EQ(status(-5min - 1ms), 412);
}

}  // namespace
}  // namespace callonce
