#include <gateway/response_reader.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using stage = response_reader::stage;

struct reading {
  stage at;
  int status = 0;
  std::string body;
  std::string left;
  header_list lines;
};

// Feeds `text` in pieces of `step` bytes, as a connection would.
reading read(std::string_view text, std::size_t step, bool to_head = false) {
  response_reader reader{8192};
  reader.start(to_head);
  std::string held;
  while (!text.empty()) {
    held += text.substr(0, step);
    text.remove_prefix(std::min(step, text.size()));
    held.erase(0, reader.feed(held));
  }
  reading found{reader.at(), 0, {}, held, {}};
  if (found.at == stage::body || found.at == stage::complete) {
    const response taken = reader.take();
    found.status = taken.status();
    found.body = taken.body_text();
    found.lines = taken.headers();
  }
  return found;
}

struct row {
  const char* what;
  const char* text;
  stage at;
  const char* body;
};

void PrintTo(const row& of, std::ostream* out) {
  *out << of.what;
}

class ResponseReader : public ::testing::TestWithParam<row> {};

TEST_P(ResponseReader, FindsTheSameInOnePieceAndByteByByte) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100000}}) {
    const reading found = read(GetParam().text, step);
    EXPECT_EQ(found.at, GetParam().at) << "in steps of " << step;
    if (found.at == stage::broken) continue;
    EXPECT_EQ(found.body, GetParam().body);
  }
}

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

INSTANTIATE_TEST_SUITE_P(
    WellFramed, ResponseReader,
    ::testing::Values(
        row{"length", OK_HEAD "Content-Length: 5\r\n\r\nhello", stage::complete, "hello"},
        row{"length, more to come", OK_HEAD "Content-Length: 9\r\n\r\nhello", stage::body, "hello"},
        row{"zero length", OK_HEAD "Content-Length: 0\r\n\r\n", stage::complete, ""},
        row{"chunks",
            OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
            stage::complete, "hello!"},
        row{"chunks with trailers",
            OK_HEAD "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
            stage::complete, "hello"},
        row{"chunks without an end", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            stage::body, "hello"},
        row{"neither", OK_HEAD "\r\nhello", stage::body, "hello"},
        row{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", stage::complete, "ok"},
        row{"204", "HTTP/1.1 204 No Content\r\n\r\n", stage::complete, ""},
        row{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
            stage::complete, ""},
        row{"no reason", "HTTP/1.1 201 \r\nContent-Length: 0\r\n\r\n", stage::complete, ""}));

// Source: RFC 9112 section 6.3, the list of the design's "traps"; C93, D-48.
INSTANTIATE_TEST_SUITE_P(
    ReadableInTwoWays, ResponseReader,
    ::testing::Values(
        row{"garbage", "hello\r\n\r\n", stage::broken, ""},
        row{"HTTP/2", "HTTP/2 200\r\n\r\n", stage::broken, ""},
        row{"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", stage::broken, ""},
        row{"status below 100", "HTTP/1.1 099 OK\r\n\r\n", stage::broken, ""},
        row{"both framings",
            OK_HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            stage::broken, ""},
        row{"both framings, the other way",
            OK_HEAD "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", stage::broken,
            ""},
        row{"two lengths", OK_HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            stage::broken, ""},
        row{"a list of lengths", OK_HEAD "Content-Length: 5, 5\r\n\r\nhello", stage::broken, ""},
        row{"a signed length", OK_HEAD "Content-Length: +5\r\n\r\nhello", stage::broken, ""},
        row{"another coding first", OK_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            stage::broken, ""},
        row{"chunked twice", OK_HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            stage::broken, ""},
        row{"an unknown coding", OK_HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            stage::broken, ""},
        row{"chunked on HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            stage::broken, ""},
        row{"a chunk size that is none", OK_HEAD "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
            stage::broken, ""},
        row{"a chunk that is longer than its size",
            OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", stage::broken,
            ""}));

TEST(ResponseReaderHead, KeepsLinesInOrderAndDropsTrailers) {
  const reading found =
      read(OK_HEAD
           "Link: a\r\nX-A: 1\r\nlink: b\r\nX-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
           "0\r\nX-A: 3\r\nAuthorization: x\r\n\r\n",
           100000);
  header_list expected;
  expected.add("Link", "a");
  expected.add("X-A", "1");
  expected.add("link", "b");
  expected.add("X-A", "2");
  expected.add("Transfer-Encoding", "chunked");
  EXPECT_EQ(found.lines, expected);
}

TEST(ResponseReaderHead, AnAnswerToHeadHasNoBodyAndLeavesWhatFollows) {
  const reading found = read(OK_HEAD "Content-Length: 5\r\n\r\nHTTP", 100000, true);
  EXPECT_EQ(found.at, stage::complete);
  EXPECT_EQ(found.body, "");
  EXPECT_EQ(found.left, "HTTP");
}

TEST(ResponseReaderHead, AHeadOverTheLimitIsBroken) {
  const std::string text = OK_HEAD "X-Long: " + std::string(9000, 'x') + "\r\n\r\n";
  EXPECT_EQ(read(text, 100000).at, stage::broken);
  EXPECT_EQ(read(text, 100).at, stage::broken);
}

TEST(ResponseReaderEnd, OnlyABodyWithoutLengthEndsWithItsConnection) {
  const auto after_end = [](std::string_view text) {
    response_reader reader{8192};
    reader.feed(text);
    reader.end();
    return reader.at();
  };
  EXPECT_EQ(after_end(OK_HEAD "\r\nhello"), stage::complete);
  EXPECT_EQ(after_end(OK_HEAD "\r\n"), stage::complete);
  EXPECT_EQ(after_end(""), stage::broken);
  EXPECT_EQ(after_end("HTTP/1.1 2"), stage::broken);
  EXPECT_EQ(after_end(OK_HEAD "X-A: 1\r\n"), stage::broken);
  EXPECT_EQ(after_end(OK_HEAD "Content-Length: 9\r\n\r\nhello"), stage::broken);
  EXPECT_EQ(after_end(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), stage::broken);
}

TEST(ResponseReaderEnd, AFailureCutsABodyWithoutLength) {
  response_reader reader{8192};
  reader.feed(OK_HEAD "\r\nhello");
  reader.fail();
  EXPECT_EQ(reader.at(), stage::broken);
}

TEST(ResponseReaderNext, GoesFromAnInterimAnswerToTheFinalOne) {
  response_reader reader{8192};
  std::string text =
      "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" OK_HEAD "Content-Length: 0\r\n\r\n";
  text.erase(0, reader.feed(text));
  EXPECT_TRUE(reader.is_interim());
  EXPECT_FALSE(reader.is_decided());
  EXPECT_EQ(reader.take().status(), 103);
  reader.start(false);
  text.erase(0, reader.feed(text));
  EXPECT_TRUE(reader.is_decided());
  EXPECT_EQ(reader.take().status(), 200);
  EXPECT_EQ(text, "");
}

TEST(ResponseReaderNext, KnowsWhetherTheConnectionMayBeUsedAgain) {
  const auto keeps_alive = [](std::string_view text) {
    response_reader reader{8192};
    reader.feed(text);
    reader.end();
    return reader.keeps_alive();
  };
  EXPECT_TRUE(keeps_alive(OK_HEAD "Content-Length: 0\r\n\r\n"));
  EXPECT_TRUE(
      keeps_alive("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps_alive(OK_HEAD "Connection: x, Close\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps_alive("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(keeps_alive(OK_HEAD "\r\nhello"));
}

}  // namespace
}  // namespace callonce::gateway
