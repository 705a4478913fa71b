#include <callonce/adapters/beast/loopback.hpp>

namespace callonce::beast {
namespace {

using namespace loopback;

/// Gives these pieces, then ends or is cut off.
class given_pieces final : public body_source {
 public:
  given_pieces(std::vector<std::string> pieces, bool cut_off)
      : pieces_(std::move(pieces)), cut_off_(cut_off) {}

  asio::awaitable<result<std::span<const std::byte>>> next() override {
    if (at_ < pieces_.size()) {
      const std::string& piece = pieces_[at_++];
      co_return std::as_bytes(std::span{piece.data(), piece.size()});
    }
    if (cut_off_) co_return errc::in_doubt;
    co_return std::span<const std::byte>{};
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t at_ = 0;
  bool cut_off_;
};

/// What a service is to answer next, and how its sends ended.
struct script {
  response head;
  std::vector<std::string> pieces;
  bool streamed = false;
  bool cut_off = false;
  std::atomic<int> failed_sends = 0;

  service play() {
    return [this](exchange& with) -> asio::awaitable<void> {
      answer said{head};
      if (streamed) said.rest = std::make_unique<given_pieces>(pieces, cut_off);
      const result<void> sent = co_await with.send(std::move(said));
      if (!sent) ++failed_sends;
    };
  }
};

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string get_1_0 = "GET / HTTP/1.0\r\n\r\n";
const std::string head_request = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(send, announces_the_length_of_a_whole_answer) {
  script said;
  said.head =
      response{201, "text/plain", std::string{"hello"}}.header("X-A", "1").header("X-A", "2");
  said.head.header("Content-Length", "99");
  host to{said.play()};
  client one{to};
  const reply heard = one.ask(get);
  EXPECT_EQ(heard.status, 201);
  EXPECT_EQ(heard.body, "hello");
  EXPECT_EQ(heard.headers.count("X-A"), 2U);
  EXPECT_EQ(heard.headers.count("Date"), 1U);
  EXPECT_TRUE(heard.field("Date").ends_with(" GMT")) << heard.field("Date");
  EXPECT_EQ(heard.field("Connection"), "");
  EXPECT_EQ(one.ask(get).body, "hello");
}

// C42: fields of the connection are never the answer's.
TEST(send, leaves_out_fields_of_another_connection) {
  script said;
  said.head = response{200, "text/plain", std::string{"x"}};
  said.head.header("Connection", "close, X-Hop").header("X-Hop", "1").header("Keep-Alive", "9");
  said.head.header("Transfer-Encoding", "chunked").header("Upgrade", "h2c").header("Trailer", "T");
  said.head.header("Proxy-Authenticate", "Basic").header("X-Kept", "1");
  host to{said.play()};
  client one{to};
  for (int turn = 0; turn < 2; ++turn) {
    const reply heard = one.ask(get);
    EXPECT_EQ(heard.headers.size(), 4U);
    EXPECT_EQ(heard.field("X-Kept"), "1");
    EXPECT_EQ(heard.body, "x");
  }
}

TEST(send, keeps_a_date_that_the_answer_has) {
  script said;
  said.head = response{200}.header("Date", "Tue, 15 Nov 1994 08:12:31 GMT");
  host to{said.play()};
  client one{to};
  const reply heard = one.ask(get);
  EXPECT_EQ(heard.headers.count("Date"), 1U);
  EXPECT_EQ(heard.field("Date"), "Tue, 15 Nov 1994 08:12:31 GMT");
}

TEST(send, never_lets_a_value_begin_another_line) {
  script said;
  said.head = response{200}.header("X-A", "1\r\nX-Evil: 1").header("X-B\r\nX-Evil", "1");
  host to{said.play()};
  client one{to};
  const reply heard = one.ask(get);
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.headers.count("X-Evil"), 0U);
}

// RFC 9110 section 8.6: no invented length, no body where none may be.
TEST(send, sends_no_body_where_none_may_be) {
  struct row {
    int status;
    const char* request;
    const char* announced;
    const char* heard;
  };
  for (const row& one :
       {row{204, get.c_str(), nullptr, ""}, row{204, get.c_str(), "5", ""},
        row{304, get.c_str(), nullptr, ""}, row{304, get.c_str(), "5", "5"},
        row{200, head_request.c_str(), "5", "5"}, row{200, head_request.c_str(), nullptr, ""}}) {
    script said;
    said.head = response{one.status};
    if (one.announced != nullptr) said.head.header("Content-Length", one.announced);
    host to{said.play()};
    client asks{to};
    const reply heard = asks.ask(one.request, true);
    EXPECT_EQ(heard.status, one.status);
    EXPECT_EQ(heard.field("Content-Length"), one.heard);
    EXPECT_EQ(heard.field("Content-Type"), "");
    EXPECT_EQ(asks.ask(one.request, true).status, one.status)
        << "the next answer is where it should";
  }
}

TEST(send, answers_head_with_the_length_and_no_body) {
  script said;
  said.head = response{200, "text/plain", std::string{"hello"}};
  host to{said.play()};
  client one{to};
  EXPECT_EQ(one.ask(head_request, true).field("Content-Length"), "5");
  said.streamed = true;
  said.pieces = {"more"};
  EXPECT_EQ(one.ask(head_request, true).status, 200);
  EXPECT_TRUE(one.hears_nothing(100ms));
}

TEST(send, streams_in_chunks_without_a_length) {
  script said;
  said.head = response{200, "text/plain", std::string{"held,"}};
  said.streamed = true;
  said.pieces = {"one,", std::string(70000, 'x'), "two"};
  host to{said.play()};
  client one{to};
  for (int turn = 0; turn < 2; ++turn) {
    const reply heard = one.ask(get);
    EXPECT_EQ(heard.field("Transfer-Encoding"), "chunked");
    EXPECT_TRUE(heard.whole);
    EXPECT_TRUE(heard.body == "held,one," + std::string(70000, 'x') + "two");
  }
}

TEST(send, streams_by_the_length_that_the_answer_announces) {
  script said;
  said.head = response{200, "text/plain", std::string{"ab"}}.header("Content-Length", "5");
  said.streamed = true;
  said.pieces = {"c", "de"};
  host to{said.play()};
  client one{to};
  for (int turn = 0; turn < 2; ++turn) {
    const reply heard = one.ask(get);
    EXPECT_EQ(heard.field("Content-Length"), "5");
    EXPECT_EQ(heard.body, "abcde");
  }
}

TEST(send, shows_the_client_a_break) {
  for (const char* const length : {"", "9", "4"}) {  // chunked; too few bytes; too many
    script said;
    said.head = response{200, "text/plain", std::string{"ab"}};
    if (*length != '\0') said.head.header("Content-Length", length);
    said.streamed = true;
    said.pieces = {"cde"};
    said.cut_off = *length == '\0';
    host to{said.play()};
    client one{to};
    EXPECT_FALSE(one.ask(get).whole) << length;
    EXPECT_TRUE(one.sees_end() || !one.received().empty());
    EXPECT_TRUE(to.becomes([&] { return said.failed_sends == 1; })) << length;
  }
}

TEST(http_1_0, gets_a_stream_until_the_end_and_a_reset_where_it_broke) {
  script said;
  said.head = response{200, "text/plain", std::string{"ab"}};
  said.streamed = true;
  said.pieces = {"cde"};
  host to{said.play()};
  client one{to};
  const reply heard = one.ask(get_1_0);
  EXPECT_EQ(heard.field("Connection"), "close");
  EXPECT_EQ(heard.field("Transfer-Encoding"), "");
  EXPECT_EQ(heard.body, "abcde");
  EXPECT_TRUE(heard.whole);
  to.call([&] { said.cut_off = true; });
  client two{to};
  EXPECT_FALSE(two.ask(get_1_0).whole);
}

TEST(http_1_0, keeps_the_connection_only_where_asked) {
  script said;
  said.head = response{200, "text/plain", std::string{"x"}};
  host to{said.play()};
  client one{to};
  const std::string keep = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
  EXPECT_EQ(one.ask(keep).field("Connection"), "keep-alive");
  EXPECT_EQ(one.ask(keep).body, "x");
  EXPECT_EQ(one.ask(get_1_0).field("Connection"), "close");
  EXPECT_TRUE(one.sees_end());
}

TEST(interim, is_sent_to_http_1_1_only) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    response hints{103};
    hints.header("Link", "</a.css>").header("Connection", "close");
    (void)co_await with.send_interim(hints);
    (void)co_await with.send(response{200});
  }};
  client one{to};
  const reply hint = one.ask(get);
  EXPECT_EQ(hint.status, 103);
  EXPECT_EQ(hint.headers.size(), 1U);
  EXPECT_EQ(one.read_reply().status, 200);
  client old{to};
  EXPECT_EQ(old.ask(get_1_0).status, 200);
}

TEST(service, that_throws_or_forgets_to_answer_answers_500) {
  for (const bool throws : {false, true}) {
    host to{[throws](exchange&) -> asio::awaitable<void> {
      if (throws) throw std::runtime_error{"bug"};
      co_return;
    }};
    client one{to};
    const reply heard = one.ask(get);
    EXPECT_EQ(heard.status, 500);
    EXPECT_TRUE(heard.has("internal_error"));
    EXPECT_EQ(one.ask(get).status, 500);
  }
}

// After a 101 the bytes are the service's, those that came behind the request included.
TEST(take_stream, tunnels_bytes_both_ways) {
  host to{[](exchange& with) -> asio::awaitable<void> {
    response switching{101};
    switching.header("Upgrade", "echo").header("Connection", "Upgrade");
    (void)co_await with.send(std::move(switching));
    const std::unique_ptr<byte_stream> raw = with.take_stream();
    std::array<std::byte, 4> bytes{};
    for (;;) {
      const result<std::size_t> count = co_await raw->read_some(bytes);
      if (!count || *count == 0) break;
      (void)co_await raw->write(std::span{bytes}.first(*count));
    }
    raw->finish_writing();
  }};
  client one{to};
  const reply heard = one.ask(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nbehind the "
      "request");
  EXPECT_EQ(heard.status, 101);
  EXPECT_EQ(heard.field("Upgrade"), "echo");
  EXPECT_EQ(heard.field("Connection"), "Upgrade");
  one.send(", later");
  one.finish_writing();
  while (one.read_more()) {
  }
  EXPECT_EQ(one.received(), "behind the request, later");
  EXPECT_TRUE(to.becomes([&] { return to.serving().connections() == 0; }));
}

}  // namespace
}  // namespace callonce::beast
