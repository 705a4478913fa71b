#include <dirent.h>

#include <callonce/adapters/beast/loopback.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::beast {
namespace {

using namespace loopback;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::string counted(std::string_view body) {
  return "POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string{body};
}

std::string chunked_request(std::string_view body, std::size_t piece) {
  return "POST /e HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, piece);
}

// C34: every size in every framing arrives whole, on one connection.
TEST(read_body, gives_exactly_the_bytes_sent) {
  host to{echo()};
  client one{to};
  for (const std::size_t size : {0, 1, 4095, 4096, 16384, 30721, 65536, 1048575}) {
    const std::string body = patterned(size);
    EXPECT_TRUE(one.ask(counted(body)).body == body) << size;
    EXPECT_TRUE(one.ask(chunked_request(body, 65536)).body == body) << size;
    EXPECT_TRUE(one.ask(chunked_request(body, 7)).body == body) << size;
    if (size > 20000) continue;
    EXPECT_TRUE(one.ask(chunked_request(body, 1)).body == body) << size;
  }
}

TEST(read_body, arrives_whole_over_slow_writes) {
  host to{echo()};
  const std::string body = patterned(3000);
  for (const std::string& request : {counted(body), chunked_request(body, 7)}) {
    client one{to};
    for (std::size_t at = 0; at < request.size(); ++at) one.send({&request[at], 1});
    EXPECT_TRUE(one.read_reply().body == body);
  }
}

// Above the memory limit the body lies in a file that has no name.
TEST(read_body, spools_large_bodies_into_a_file_without_a_name) {
  char directory[] = "/tmp/callonce-spool-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  server_limits limits;
  limits.spool_directory = directory;
  limits.buffered_bytes_max = 2 * mib;
  {
    host to{echo(), limits};
    client one{to};
    const std::string body = patterned(5 * mib + 13);
    EXPECT_TRUE(one.ask(counted(body)).body == body);
    EXPECT_TRUE(one.ask(chunked_request(body, 50000)).body == body);
  }
  EXPECT_EQ(::rmdir(directory), 0) << "nothing may be left in it";
}

TEST(read_body, answers_503_where_the_spool_cannot_be_used) {
  server_limits limits;
  limits.spool_directory = "/nowhere";
  host to{echo(), limits};
  client one{to};
  const reply said = one.ask(counted(patterned(2 * mib)));
  EXPECT_EQ(said.status, 503);
  EXPECT_TRUE(said.has("overloaded"));
}

// C68: real bytes count, and the answer comes at the first byte too many.
TEST(read_body, answers_413_at_the_first_byte_over_the_cap) {
  host to{echo(mib)};
  const std::string body = patterned(mib + 1);
  const std::string_view fits = std::string_view{body}.substr(0, mib);
  client one{to};
  EXPECT_EQ(one.ask(counted(fits)).body.size(), mib);
  EXPECT_EQ(one.ask(chunked_request(fits, 1000)).body.size(), mib);
  EXPECT_EQ(one.ask(chunked_request(body, 1000)).status, 413);
  client two{to};
  const reply said = two.ask(counted(body));
  EXPECT_EQ(said.status, 413);
  EXPECT_EQ(said.field("Connection"), "close");
  EXPECT_TRUE(said.has("body_too_large"));
}

// C68: an upload without an end is answered while it goes on.
TEST(read_body, answers_an_endless_upload_soon) {
  host to{echo(mib)};
  client one{to};
  one.send("POST /e HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "10000\r\n" + patterned(65536) + "\r\n";
  for (int at = 0; at < 17; ++at) one.send(piece);
  EXPECT_EQ(one.read_reply().status, 413);
}

// C88: the sum of all bodies is bounded, and what is answered gives its share back.
TEST(read_body, answers_503_when_all_bodies_together_are_too_large) {
  server_limits limits;
  limits.buffered_bytes_max = 100000;
  callonce::detail::event let_go;
  std::atomic<bool> holds = false;
  const auto hold = [&](exchange& with) -> asio::awaitable<void> {
    const auto read = co_await with.read_body(mib);
    holds = true;
    (void)co_await let_go.wait(system_environment(), steady_time::max());
    (void)co_await with.send(response{200});
  };
  const service plain = echo();
  host to{
      [&](exchange& with) { return with.head().target() == "/hold" ? hold(with) : plain(with); },
      limits};
  client holder{to};
  const std::string large = counted(patterned(90000));
  holder.send("POST /hold" + large.substr(large.find(" HTTP")));
  EXPECT_TRUE(to.becomes([&] { return holds.load(); }));
  client late{to};
  const reply said = late.ask(counted(patterned(20000)));
  EXPECT_EQ(said.status, 503);
  EXPECT_TRUE(said.has("overloaded"));
  to.call([&] { let_go.fire(); });
  EXPECT_EQ(holder.read_reply().status, 200);
  client later{to};
  EXPECT_EQ(later.ask(large).status, 200);
}

// C95: nobody is asked to work for a body that never came.
TEST(read_body, tells_that_the_client_left_in_the_middle) {
  std::atomic<int> left = 0;
  host to{[&](exchange& with) -> asio::awaitable<void> {
    const auto read = co_await with.read_body(mib);
    if (std::holds_alternative<disconnected>(read)) ++left;
  }};
  client closes{to};
  closes.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123456789");
  closes.hang_up();
  client resets{to};
  resets.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123");
  resets.reset();
  EXPECT_TRUE(to.becomes([&] { return left == 2 && to.serving().connections() == 0; }));
}

// G-02: asked for, and answered at once.
TEST(expect_continue, is_answered_when_the_body_is_wanted) {
  host to{echo()};
  client one{to};
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(one.ask(head).status, 100);
  EXPECT_EQ(one.ask("abc").body, "abc");
  // A body that is already here needs no invitation.
  EXPECT_EQ(one.ask(head + "xyz").body, "xyz");
}

// G-01: a request refused by its head is never invited; its connection ends, for nobody can know
// whether the body comes after all.
TEST(expect_continue, is_not_answered_when_the_body_is_not_wanted) {
  host to{echo(2)};
  client one{to};
  const reply said =
      one.ask("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(said.status, 413);
  EXPECT_EQ(said.field("Connection"), "close");
}

// G-03: HTTP/1.0 knows no interim answers.
TEST(expect_continue, is_not_answered_to_http_1_0) {
  host to{echo()};
  client one{to};
  one.send("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(one.hears_nothing(200ms));
  EXPECT_EQ(one.ask("abc").status, 200);
}

// P-20, G-06: what comes behind the body is no header.
TEST(trailers, never_join_the_header_lines) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    const auto read = co_await with.read_body(mib);
    std::string names;
    for (const field& line : with.head().headers()) names += line.name + "=" + line.value + ";";
    (void)co_await with.send(response{200, "text/plain", names});
  }};
  client one{to};
  const reply said = one.ask(
      "POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nhost-b: 2\r\nX-A: 3\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nIdempotency-Key: k\r\nX-A: 4\r\n\r\n");
  EXPECT_EQ(said.body, "Host=a;X-A=1;host-b=2;X-A=3;Transfer-Encoding=chunked;");
}

// G-07, G-08: pieces are handed on as they come.
TEST(stream_body, gives_the_pieces_as_they_come) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    const std::unique_ptr<body_source> pieces = with.stream_body();
    std::string all;
    for (;;) {
      const auto piece = co_await pieces->next();
      if (!piece || piece->empty()) break;
      all.append(reinterpret_cast<const char*>(piece->data()), piece->size());
      if (all == "first") (void)co_await with.send_interim(response{102});
    }
    (void)co_await with.send(response{200, "text/plain", all});
  }};
  for (const bool is_chunked : {false, true}) {
    client one{to};
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
    one.send(head + (is_chunked ? "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
                                : "Content-Length: 11\r\n\r\nfirst"));
    EXPECT_EQ(one.read_reply().status, 102) << "before the rest was sent";
    EXPECT_EQ(one.ask(is_chunked ? "6\r\nsecond\r\n0\r\n\r\n" : "second").body, "firstsecond");
    EXPECT_EQ(one.ask(head + "\r\n").status, 200) << "the connection goes on";
  }
}

TEST(stream_body, says_when_the_body_was_cut_off) {
  std::atomic<bool> cut = false;
  host to{[&](exchange& with) -> asio::awaitable<void> {
    const std::unique_ptr<body_source> pieces = with.stream_body();
    for (;;) {
      const auto piece = co_await pieces->next();
      if (!piece) cut = true;
      if (!piece || piece->empty()) break;
    }
  }};
  client one{to};
  one.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
  one.finish_writing();
  EXPECT_TRUE(to.becomes([&] { return cut.load(); }));
}

// An answer that does not wait for the body: a short rest is read over, a long one ends the
// connection, and the client can read its answer in both cases.
TEST(early_answer, reaches_a_client_that_still_sends) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    (void)co_await with.send(response{403, "text/plain", std::string{"no"}});
  }};
  client small{to};
  EXPECT_EQ(small.ask(counted(patterned(30000))).status, 403);
  EXPECT_EQ(small.ask(counted(patterned(30000))).status, 403);
  client large{to};
  const reply said = large.ask(counted(patterned(5 * mib)));
  EXPECT_EQ(said.status, 403);
  EXPECT_EQ(said.field("Connection"), "close");
  large.finish_writing();
  EXPECT_TRUE(large.sees_end());
  EXPECT_FALSE(large.was_reset());
}

}  // namespace
}  // namespace callonce::beast
