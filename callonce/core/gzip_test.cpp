#include "callonce/core/gzip.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <callonce/core/digest.hpp>

namespace callonce::detail {
namespace {

std::string gzip(const std::string& plain, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string made(deflateBound(&stream, plain.size()) + 64, '\0');
  std::string input = plain;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  deflate(&stream, Z_FINISH);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

std::optional<std::string> opened(const std::string& coded, std::uint64_t bytes_max = 1000) {
  return gunzip(bytes_of(coded), bytes_max);
}

TEST(Gzip, F10OneContentHoweverItWasCompressed) {
  const std::string plain = R"({"amount":100,"note":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})";
  EXPECT_EQ(opened(gzip(plain, 1)), plain);
  EXPECT_EQ(opened(gzip(plain, 9)), plain);
  EXPECT_EQ(opened(gzip(plain) + gzip("x")), plain + "x") << "two members are one body";
  EXPECT_EQ(opened(gzip("")), "");
}

TEST(Gzip, WhatIsNotWholeHasNoContent) {
  const std::string coded = gzip("some bytes that are long enough");
  for (std::size_t size = 0; size < coded.size(); ++size) {
    EXPECT_FALSE(opened(coded.substr(0, size))) << size;
  }
  EXPECT_FALSE(opened(coded + "x"));
  EXPECT_FALSE(opened("plain text"));
  std::string damaged = coded;
  damaged[coded.size() - 5] = static_cast<char>(damaged[coded.size() - 5] ^ 1);
  EXPECT_FALSE(opened(damaged)) << "its checksum";
}

TEST(Gzip, ABombEndsAtTheCap) {
  EXPECT_TRUE(opened(gzip(std::string(1000, 'a'))));
  EXPECT_FALSE(opened(gzip(std::string(1001, 'a'))));
  EXPECT_FALSE(opened(gzip(std::string(std::size_t{64} << 20, 'a')), 1 << 20));
}

}  // namespace
}  // namespace callonce::detail
