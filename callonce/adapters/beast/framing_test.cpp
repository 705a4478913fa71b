#include <gtest/gtest.h>

#include <callonce/adapters/beast/framing.hpp>

namespace callonce::beast::detail {
namespace {

// RFC 9112 section 9.3.
TEST(judge_framing, keeps_a_connection_as_its_version_and_options_say) {
  struct row {
    bool http_1_1;
    const char* connection;
    bool keep_alive;
  };
  for (const row& one :
       {row{true, "", true}, row{true, "close", false}, row{true, "X-Hop, Close", false},
        row{true, "keep-alive, close", false}, row{false, "", false},
        row{false, "Keep-Alive", true}, row{false, "close", false}}) {
    header_list headers;
    headers.add("Host", "a");
    headers.add("connection", one.connection);
    const framing said = judge_framing(one.http_1_1, headers);
    EXPECT_EQ(said.refusal, "");
    EXPECT_EQ(said.keep_alive, one.keep_alive) << one.http_1_1 << one.connection;
  }
}

// G-02, G-03: asked for by an HTTP/1.1 request with a body only.
TEST(judge_framing, expects_continue_only_where_it_means_something) {
  header_list headers;
  headers.add("Host", "a");
  headers.add("Expect", "100-Continue");
  EXPECT_FALSE(judge_framing(true, headers).expects_continue);
  headers.add("Content-Length", "3");
  EXPECT_TRUE(judge_framing(true, headers).expects_continue);
  EXPECT_FALSE(judge_framing(false, headers).expects_continue);
}

TEST(judge_framing, refuses_both_framings_in_any_order) {
  header_list headers;
  headers.add("Host", "a");
  headers.add("Content-Length", "3");
  headers.add("Transfer-Encoding", "chunked");
  EXPECT_EQ(judge_framing(true, headers).refusal, "two_framings");
}

TEST(parse_length, takes_plain_digits_that_fit) {
  std::uint64_t length = 0;
  EXPECT_TRUE(parse_length("0", length));
  EXPECT_TRUE(parse_length("18446744073709551615", length));
  EXPECT_EQ(length, ~std::uint64_t{0});
  for (const char* const bad : {"", "-1", "+1", " 1", "1 ", "1,1", "0x1", "18446744073709551616"}) {
    EXPECT_FALSE(parse_length(bad, length)) << bad;
  }
}

// The end is found at the same byte however the bytes arrive.
TEST(head_scan, finds_the_end_in_every_split) {
  const std::string_view head = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
  const std::string bytes = std::string{head} + " body";
  for (std::size_t split = 0; split < head.size(); ++split) {
    head_scan scan;
    EXPECT_EQ(scan.look(std::string_view{bytes}.substr(0, split)), head_scan::state::more);
    EXPECT_EQ(scan.look(bytes), head_scan::state::whole);
    EXPECT_EQ(scan.size(), head.size());
  }
}

TEST(head_scan, sees_a_fold_in_every_split) {
  const std::string_view bytes = "GET / HTTP/1.1\r\nX: y\r\n\tz\r\n\r\n";
  for (std::size_t split = 0; split < bytes.find('\t'); ++split) {
    head_scan scan;
    EXPECT_EQ(scan.look(bytes.substr(0, split)), head_scan::state::more);
    EXPECT_EQ(scan.look(bytes), head_scan::state::malformed);
    EXPECT_EQ(scan.reason(), "obs_fold");
  }
}

}  // namespace
}  // namespace callonce::beast::detail
