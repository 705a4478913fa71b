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

TEST(Codec, AnAnswerWrittenThroughSqlReadsAsAnyOther) {
  const auto read = decode_plain_answer(
      201,
      R"([["Content-Type","application/json"],["X-A","1"],["Location","/o/1"],["X-A","\u00e9"]])",
      "\0\xFF{}"s, body_omitted::none);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, 201);
  EXPECT_EQ(read->headers.size(), 4U);
  EXPECT_EQ(read->headers.count("X-A"), 2U);
  EXPECT_EQ(read->resource, "/o/1");
  EXPECT_EQ(read->body.text(), "\0\xFF{}"s);
  EXPECT_EQ(read->omitted, body_omitted::none);
}

TEST(Codec, AnAnswerWrittenThroughSqlKeepsOnlyWhatIsStored) {
  const auto read =
      decode_plain_answer(200,
                          R"([["Connection","X-Hop"],["X-Hop","1"],["Content-Length","999"],
          ["Transfer-Encoding","chunked"],["Idempotent-Replayed","true"],
          ["Idempotency-Claim","secret"],["Date","now"],["X-B","1"]])",
                          "", body_omitted::none);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->headers.size(), 1U);
  EXPECT_EQ(read->headers.begin()->name, "X-B");
}

TEST(Codec, AnAnswerWrittenThroughSqlWhoseBodyIsGone) {
  EXPECT_EQ(decode_plain_answer(200, "[]", std::nullopt, body_omitted::none)->omitted,
            body_omitted::expired);
  EXPECT_EQ(decode_plain_answer(200, "[]", "", body_omitted::cap)->omitted, body_omitted::cap);
  EXPECT_EQ(decode_plain_answer(204, "[]", "", body_omitted::none)->omitted, body_omitted::none);
}

// C64: field values are bytes, and not every application writes UTF-8.
TEST(Codec, AnAnswerWrittenThroughSqlMayHaveAnyByteAboveAscii) {
  const auto read = decode_plain_answer(200, "[[\"X-A\",\"\xE4\"]]", "", body_omitted::none);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->headers.find("X-A"), "\xE4");
}

TEST(Codec, WhatNoHttpAnswerCanBeIsCorrupt) {
  for (const char* headers :
       {"", "{}", "null", "[1]", R"([["A"]])", R"([["A","b","c"]])", R"([["A",1]])",
        R"([["","x"]])", R"([["A B","x"]])", R"([["A:","x"]])", R"([["A","x\r\nB: y"]])",
        R"([["A","x\u0000"]])", R"([["A\n","x"]])", R"([["A","\u007f"]])",
        R"([["A","b"]] trailing)"}) {
    expect_corrupt(decode_plain_answer(200, headers, "", body_omitted::none), headers);
  }
  for (const int status : {-1, 0, 100, 199, 600, 99999}) {
    expect_corrupt(decode_plain_answer(status, "[]", "", body_omitted::none),
                   std::to_string(status));
  }
}

}  // namespace
}  // namespace callonce
