#include <callonce/adapters/beast/loopback.hpp>

namespace callonce::beast {
namespace {

using namespace loopback;

struct row {
  const char* name;
  std::string request;
  int status;
  const char* reason;
};

void PrintTo(const row& one, std::ostream* out) {
  *out << one.name;
}

const std::string post = "POST /e HTTP/1.1\r\nHost: a\r\n";

class refused : public testing::TestWithParam<row> {};

// G-04, G-10, C68, P-19: one reading only, else an answer that says why, and the end.
TEST_P(refused, with_a_problem_and_then_closes) {
  host to{echo()};
  client one{to};
  const reply said = one.ask(GetParam().request);
  EXPECT_EQ(said.status, GetParam().status);
  EXPECT_TRUE(said.whole);
  EXPECT_EQ(said.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(said.field("Cache-Control"), "no-store");
  EXPECT_EQ(said.field("Connection"), "close");
  EXPECT_TRUE(said.has(GetParam().reason)) << said.body;
  one.finish_writing();
  EXPECT_TRUE(one.sees_end());
}

INSTANTIATE_TEST_SUITE_P(
    framing, refused,
    testing::Values(
        row{"xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"identity", post + "Transfer-Encoding: identity\r\n\r\n", 400, "transfer_encoding"},
        row{"gzip_chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"chunked_twice_in_a_line",
            post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"chunked_twice",
            post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"chunked_on_1_0",
            "POST /e HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"both_framings",
            post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "transfer_encoding"},
        row{"both_framings_other_order",
            post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400,
            "content_length"},
        row{"length_list", post + "Content-Length: 3, 3\r\n\r\nabc", 400, "content_length"},
        row{"two_equal_lengths", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400,
            "content_length"},
        row{"negative_length", post + "Content-Length: -1\r\n\r\n", 400, "content_length"},
        row{"signed_length", post + "Content-Length: +5\r\n\r\nabcde", 400, "content_length"},
        row{"hexadecimal_length", post + "Content-Length: 0x5\r\n\r\nabcde", 400, "content_length"},
        row{"length_beyond_64_bits", post + "Content-Length: 18446744073709551616\r\n\r\n", 400,
            "content_length"},
        row{"empty_length", post + "Content-Length:\r\n\r\n", 400, "content_length"},
        row{"no_host", "GET / HTTP/1.1\r\n\r\n", 400, "host"},
        row{"two_hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "host"},
        row{"host_list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400, "host"},
        row{"folded_line", post + "X-A: one\r\n two\r\n\r\n", 400, "obs_fold"},
        row{"folded_key", post + "Idempotency-Key: k\r\n\tx\r\n\r\n", 400, "obs_fold"},
        row{"bare_line_feed", "GET / HTTP/1.1\nHost: a\n\n", 400, "bare_line_feed"},
        row{"bare_line_feed_later", post + "X-A: 1\nX-B: 2\r\n\r\n", 400, "bare_line_feed"},
        row{"bare_carriage_return", post + "X-A: 1\rX-B: 2\r\n\r\n", 400, "malformed"},
        row{"blank_before_colon", post + "X-A : 1\r\n\r\n", 400, "malformed"},
        row{"control_byte", post + std::string{"X-A: 1\0002\r\n\r\n", 12}, 400, "malformed"},
        row{"no_version", "GET /\r\n\r\n", 400, "malformed"},
        row{"version_2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400, "version"},
        row{"version_1_2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400, "version"},
        row{"http2_preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "http2_not_spoken"},
        row{"tls_hello", std::string{"\x16\x03\x01\x02\x00\x01", 6}, 400, "not_http"},
        row{"key_in_connection", post + "Idempotency-Key: k\r\nConnection: idempotency-key\r\n\r\n",
            400, "key_in_connection"},
        row{"long_line", post + "X-A: " + std::string(64 << 10, 'a') + "\r\n\r\n", 431,
            "headers_too_large"},
        row{"endless_line", "GET /" + std::string(40 << 10, 'a'), 431, "headers_too_large"},
        row{"many_lines",
            [] {
              std::string made = post;
              for (int at = 0; at < 4000; ++at) made += "X-A: 12345\r\n";
              return made + "\r\n";
            }(),
            431, "headers_too_large"},
        row{"bad_chunk_size", post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "chunk"},
        row{"chunk_size_beyond_64_bits",
            post + "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\nabc", 400, "chunk"},
        row{"chunk_longer_than_said",
            post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n", 400, "chunk"},
        row{"endless_chunk_extension",
            post + "Transfer-Encoding: chunked\r\n\r\n3;" + std::string(200 << 10, 'a'), 400,
            "chunk"}),
    [](const testing::TestParamInfo<row>& each) { return std::string{each.param.name}; });

struct accepted_row {
  const char* name;
  std::string request;
  std::string body;
};

void PrintTo(const accepted_row& one, std::ostream* out) {
  *out << one.name;
}

class accepted : public testing::TestWithParam<accepted_row> {};

TEST_P(accepted, in_one_piece_and_byte_by_byte) {
  host to{echo()};
  client one{to};
  const reply at_once = one.ask(GetParam().request);
  EXPECT_EQ(at_once.status, 200) << at_once.body;
  EXPECT_EQ(at_once.body, GetParam().body);
  for (const char byte : GetParam().request) one.send({&byte, 1});
  const reply by_bytes = one.read_reply();
  EXPECT_EQ(by_bytes.status, 200) << by_bytes.body;
  EXPECT_EQ(by_bytes.body, GetParam().body);
}

INSTANTIATE_TEST_SUITE_P(
    framing, accepted,
    testing::Values(
        accepted_row{"no_body", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
        accepted_row{"empty_host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
        accepted_row{"address_host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", ""},
        accepted_row{"length", post + "Content-Length: 3\r\n\r\nabc", "abc"},
        accepted_row{"zero_length", post + "Content-Length: 0\r\n\r\n", ""},
        accepted_row{"spaced_length", post + "Content-Length:   3  \r\n\r\nabc", "abc"},
        accepted_row{"chunked", post + "transfer-encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
                     "abc"},
        accepted_row{"chunked_empty", post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
        accepted_row{"chunk_extension",
                     post + "Transfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n0\r\n\r\n",
                     "abc"},
        accepted_row{"trailers",
                     post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
                     "abc"},
        accepted_row{"blank_line_before", "\r\n" + post + "Content-Length: 1\r\n\r\nx", "x"},
        accepted_row{"header_of_almost_32_kib",
                     post + "X-A: " + std::string(32000, 'a') + "\r\n\r\n", ""}),
    [](const testing::TestParamInfo<accepted_row>& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace callonce::beast
