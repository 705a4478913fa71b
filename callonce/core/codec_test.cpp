#include <string>

#include <gtest/gtest.h>

#include <callonce/core/codec.hpp>

namespace callonce {
namespace {

using namespace std::string_literals;

std::string every_byte() {
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  return bytes;
}

stored_answer sample() {
  stored_answer made;
  made.status = 201;
  made.headers.add("Content-Type", "application/json");
  made.headers.add("X-A", "1");
  made.headers.add("X-A", "2");
  made.resource = "/v1/charges/1";
  made.body = R"({"id":1})"s;
  return made;
}

void expect_round_trip(const stored_answer& answer) {
  const auto again = decode_answer(encode_head(answer), answer.body.text());
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(*again, answer);
}

void expect_corrupt(const result<stored_answer>& read, const std::string& why) {
  ASSERT_TRUE(read.has_error()) << why;
  EXPECT_EQ(read.error(), errc::corrupt) << why;
}

TEST(Codec, RoundTrips) {
  expect_round_trip(sample());
  expect_round_trip(stored_answer{});
}

TEST(Codec, C44C64C65EveryByteValueAndEmptyValues) {
  stored_answer answer;
  answer.status = 599;
  answer.headers.add("X-All", every_byte());
  answer.headers.add("X-Empty", "");
  answer.headers.add("", "nameless");
  answer.resource = every_byte();
  answer.body = every_byte();
  expect_round_trip(answer);
  answer.body = {};
  expect_round_trip(answer);
}

TEST(Codec, C43ManyHeadersInOrder) {
  stored_answer answer = sample();
  for (int line = 0; line < 120; ++line) {
    answer.headers.add("X-" + std::to_string(line % 7),
                       std::string(static_cast<size_t>(line), 'v'));
  }
  expect_round_trip(answer);
}

TEST(Codec, EveryReasonForNoBody) {
  for (const auto reason : {body_omitted::cap, body_omitted::stream, body_omitted::expired}) {
    stored_answer answer = sample();
    answer.body = {};
    answer.omitted = reason;
    expect_round_trip(answer);
    const auto without = decode_answer(encode_head(answer), std::nullopt);
    ASSERT_TRUE(without.has_value());
    EXPECT_EQ(without->omitted, reason);
  }
}

TEST(Codec, ADroppedBodyReadsAsExpired) {
  const auto read = decode_answer(encode_head(sample()), std::nullopt);
  ASSERT_TRUE(read.has_value());
  stored_answer expected = sample();
  expected.body = {};
  expected.omitted = body_omitted::expired;
  EXPECT_EQ(*read, expected);
}

TEST(Codec, AnAnswerThatNeverHadABodyDoesNotExpire) {
  stored_answer answer = sample();
  answer.body = {};
  const auto read = decode_answer(encode_head(answer), std::nullopt);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->omitted, body_omitted::none);
}

TEST(Codec, C83EveryFlippedBitOfTheHeadIsSeen) {
  const std::string head = encode_head(sample());
  for (std::size_t at = 0; at < head.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = head;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      expect_corrupt(decode_answer(damaged, sample().body.text()), "byte " + std::to_string(at));
      expect_corrupt(decode_answer(damaged, std::nullopt), "byte " + std::to_string(at));
    }
  }
}

TEST(Codec, C83EveryFlippedBitOfTheBodyIsSeen) {
  const std::string head = encode_head(sample());
  const std::string body{sample().body.text()};
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = body;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      expect_corrupt(decode_answer(head, damaged), "byte " + std::to_string(at));
    }
  }
}

TEST(Codec, TruncatedAndLengthenedPiecesAreCorrupt) {
  const std::string head = encode_head(sample());
  const std::string body{sample().body.text()};
  for (std::size_t size = 0; size < head.size(); ++size) {
    expect_corrupt(decode_answer(head.substr(0, size), body), std::to_string(size));
  }
  for (std::size_t size = 0; size < body.size(); ++size) {
    expect_corrupt(decode_answer(head, body.substr(0, size)), std::to_string(size));
  }
  expect_corrupt(decode_answer(head + '\0', body), "longer head");
  expect_corrupt(decode_answer(head, body + '\0'), "longer body");
}

TEST(Codec, AForeignBodyIsCorrupt) {
  stored_answer bodyless = sample();
  bodyless.body = {};
  expect_corrupt(decode_answer(encode_head(bodyless), "x"), "a body that was never stored");
  expect_corrupt(decode_answer(encode_head(sample()), R"({"id":2})"), "another answer's body");
}

TEST(Codec, R21ABodyThatShrinksIsKeptSmallAndReadBack) {
  stored_answer answer = sample();
  answer.body = body_bytes{std::string(5000, 'a')};
  const auto small = compress_body(answer);
  ASSERT_TRUE(small);
  EXPECT_LT(small->size(), 200U);
  const std::string head = encode_head(answer, body_coding::zstd);
  const auto read = decode_answer(head, *small);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, answer);
  expect_corrupt(decode_answer(head, answer.body.text()), "a plain body under a coded head");
  expect_corrupt(decode_answer(encode_head(answer), *small), "a coded body under a plain head");
  std::string damaged = *small;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  expect_corrupt(decode_answer(head, damaged), "damaged");
}

TEST(Codec, R21ABodyThatHardlyShrinksStaysAsItIs) {
  stored_answer answer = sample();
  EXPECT_FALSE(compress_body(answer)) << "small";
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1664525U + 1013904223U;
    noise += static_cast<char>(state >> 24U);
  }
  answer.body = body_bytes{noise};
  EXPECT_FALSE(compress_body(answer)) << "noise";
  answer.body = body_bytes{std::string(5000, 'a')};
  answer.headers.add("Content-Encoding", "gzip");
  EXPECT_FALSE(compress_body(answer)) << "coded already";
}

TEST(Codec, R17TrailersAreKept) {
  stored_answer answer = sample();
  answer.trailers.add("X-Sum", "1");
  answer.trailers.add("X-Sum", "");
  const auto read = decode_answer(encode_head(answer), answer.body.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trailers, answer.trailers);
}

result<stored_answer> plain(std::string_view headers, int status = 200) {
  return decode_plain_answer(status, headers, "", body_omitted::none, "");
}

// C43, C44, C64
TEST(PlainCodec, ReadsWhatAnApplicationWrote) {
  const auto read = decode_plain_answer(
      201, R"([["Content-Type","application/json"],["X-A","1"],["X-A","2"],["X-Empty",""]])",
      every_byte(), body_omitted::none, "/v1/charges/1");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, 201);
  EXPECT_EQ(read->body.text(), every_byte());
  EXPECT_EQ(read->omitted, body_omitted::none);
  EXPECT_EQ(read->resource, "/v1/charges/1");
  header_list expected;
  expected.add("Content-Type", "application/json");
  expected.add("X-A", "1");
  expected.add("X-A", "2");
  expected.add("X-Empty", "");
  EXPECT_EQ(read->headers, expected);
}

// C42
TEST(PlainCodec, LeavesOutWhatNoReplayMayRepeat) {
  const auto read = plain(R"([["Connection","X-Hop"],["X-Hop","1"],["Content-Length","7"],
      ["Transfer-Encoding","chunked"],["Date","now"],["Idempotency-Outcome","final"],
      ["idempotent-replayed","true"],["RateLimit-Limit","3"],["X-A","1"]])");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->headers.size(), 1U);
  EXPECT_EQ(read->headers.begin()->name, "X-A");
}

TEST(PlainCodec, TheResourceIsTheApplicationsElseTheLocation) {
  EXPECT_EQ(plain(R"([["Location","/a"]])")->resource, "/a");
  const auto both = plain(R"([["Location","/a"],["Idempotency-Resource","/b"]])");
  EXPECT_EQ(both->resource, "/b");
  EXPECT_EQ(both->headers.size(), 1U) << "the resource is not for clients";
  const auto given =
      decode_plain_answer(200, R"([["Location","/a"]])", "", body_omitted::none, "/c");
  EXPECT_EQ(given->resource, "/c");
}

TEST(PlainCodec, AMissingBodyHasAReasonAndAnEmptyOneIsThere) {
  EXPECT_EQ(plain("[]")->omitted, body_omitted::none);
  EXPECT_TRUE(plain("[]")->body.empty());
  const auto reason = [](body_omitted said) {
    return decode_plain_answer(200, "[]", std::nullopt, said, "")->omitted;
  };
  EXPECT_EQ(reason(body_omitted::none), body_omitted::expired);
  EXPECT_EQ(reason(body_omitted::cap), body_omitted::cap);
  EXPECT_EQ(reason(body_omitted::stream), body_omitted::stream);
  expect_corrupt(decode_plain_answer(200, "[]", "", static_cast<body_omitted>(9), ""), "reason");
}

// C83
TEST(PlainCodec, WhatCannotBeAnAnswerIsCorrupt) {
  for (const int status : {-1, 0, 100, 101, 199, 600, 65736}) {
    expect_corrupt(plain("[]", status), std::to_string(status));
  }
  EXPECT_TRUE(plain("[]", 599));
  for (const char* headers :
       {"", "{}", "null", "\"X\"", "[", "[[]]", R"([["X-A"]])", R"([["X-A","1","2"]])",
        R"([["X-A",1]])", R"([[1,"X-A"]])", R"([{"X-A":"1"}])", R"(["X-A","1"])", "[] []"}) {
    expect_corrupt(plain(headers), headers);
  }
  expect_corrupt(plain("[]\0"s), "a byte behind it");
}

TEST(PlainCodec, NoLineCanBeginInsideAnother) {
  for (const char* value : {"\\r", "\\n", "\\u0000", "\\r\\nX-B: 1", "\\u007f", "\\u0001"}) {
    expect_corrupt(plain(R"([["X-A","a)" + std::string{value} + R"(b"]])"), value);
  }
  for (const char* name : {"", " ", "X A", "X:", "X\\r\\n", "X\\u0000", "\\u00e4", "X\\t"}) {
    expect_corrupt(plain(R"([[")" + std::string{name} + R"(","1"]])"), name);
  }
  expect_corrupt(decode_plain_answer(200, "[]", "", body_omitted::none, "/a\r\nX-B: 1"),
                 "resource");
  EXPECT_TRUE(plain(R"([["X-A","tab\tand \u00e4"]])"));
}

// C64: field values are bytes; not every client writes UTF-8.
TEST(PlainCodec, BytesAboveAsciiAreOpaque) {
  const auto read = plain("[[\"X-A\",\"\xE4\"]]");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->headers.find("X-A"), "\xE4");
}

}  // namespace
}  // namespace callonce
