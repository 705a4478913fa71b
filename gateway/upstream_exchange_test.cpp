#include <future>

#include <gateway/scripted_application.hpp>
#include <gateway/upstream_pool.hpp>
#include <gateway/upstream_test_support.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;
using testing::raw_connection;
using testing::scripted_application;

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Answers every request of every connection with `text`, and then does `after`.
scripted_application::script answering(std::string text,
                                       std::function<void(raw_connection&)> after = {}) {
  return [text = std::move(text), after = std::move(after)](raw_connection& connection, int) {
    while (!connection.read_request().empty()) {
      connection.send(text);
      if (after) return after(connection);
    }
  };
}

/// A body in the pieces it is given; may end in a cut.
class pieces final : public body_source {
 public:
  explicit pieces(std::vector<std::string> all, bool cut = false)
      : all_(std::move(all)), cut_(cut) {}
  asio::awaitable<result<std::span<const std::byte>>> next() override {
    if (at_ == all_.size()) {
      if (cut_) co_return make_error_code(errc::in_doubt);
      co_return std::span<const std::byte>{};
    }
    const std::string& piece = all_[at_++];
    co_return std::as_bytes(std::span{piece.data(), piece.size()});
  }
  std::size_t given() const noexcept { return at_; }

 private:
  std::vector<std::string> all_;
  bool cut_;
  std::size_t at_ = 0;
};

// --- Answers -----------------------------------------------------------------------------------

TEST(UpstreamAnswer, R18InterimAnswersAreToldAndTheFinalOneIsTheAnswer) {
  scripted_application application{
      answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
                "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\n"
                "Content-Length: 2\r\n\r\nok")};
  pool_world world{application.where()};
  for (int round = 0; round < 2; ++round) {
    world.interims.clear();
    const response said = world.answer_to(request{"POST", "/"});
    EXPECT_EQ(said.status(), 201);
    EXPECT_EQ(said.headers().find("Link"), nullptr);
    EXPECT_EQ(world.interims, (std::vector<int>{103, 102}));
  }
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamAnswer, ChunksBecomeTheirContentAndTheConnectionIsKept) {
  scripted_application application{
      answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n")};
  pool_world world{application.where()};
  for (int round = 0; round < 2; ++round) {
    upstream_answer said = world.whole_answer_to(request{"GET", "/"});
    EXPECT_EQ(said.content.head.body_text(), "hello world");
    EXPECT_EQ(said.content.rest, nullptr);
    EXPECT_EQ(said.content.head.headers().find("X-Trailer"), nullptr);
  }
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamAnswer, AnswersWithoutBodyKeepTheirLengthAndTheConnection) {
  for (const char* head :
       {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    scripted_application application{answering(head)};
    pool_world world{application.where()};
    for (int round = 0; round < 2; ++round) {
      upstream_answer said = world.whole_answer_to(request{"HEAD", "/"});
      EXPECT_EQ(said.content.head.body_text(), "");
      EXPECT_EQ(said.content.rest, nullptr);
      const bool has_length = std::string_view{head}.find("Content-Length") != std::string::npos;
      EXPECT_EQ(said.content.head.headers().count("Content-Length"), has_length ? 1U : 0U);
    }
    EXPECT_EQ(application.connections(), 1) << head;
  }
}

TEST(UpstreamAnswer, ALongBodyStreamsAndThenTheConnectionIsUsedAgain) {
  std::string body;
  while (body.size() < 300000) body += "line " + std::to_string(body.size()) + "\n";
  std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 1000) {
    const std::string piece = body.substr(at, 1000);
    char size[8];
    std::snprintf(size, sizeof size, "%zx", piece.size());
    chunked.append(size).append("\r\n").append(piece).append("\r\n");
  }
  chunked += "0\r\n\r\n";
  const std::string counted =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (const std::string& text : {counted, chunked}) {
    scripted_application application{answering(text)};
    pool_world world{application.where()};
    for (int round = 0; round < 2; ++round) {
      upstream_answer said = world.whole_answer_to(request{"GET", "/"});
      ASSERT_NE(said.content.rest, nullptr);
      const std::string held{said.content.head.body_text()};
      EXPECT_EQ(held + world.all_of(*said.content.rest), body);
      EXPECT_EQ(world.all_of(*said.content.rest), "");  // the end stays the end
      EXPECT_EQ(world.pool().idle(), 1U);               // given back with its last byte
    }
    EXPECT_EQ(application.connections(), 1);
  }
}

TEST(UpstreamAnswer, C96PiecesComeAsTheApplicationSendsThem) {
  std::promise<void> seen;
  scripted_application application{[&](raw_connection& connection, int) {
    connection.read_request();
    connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    seen.get_future().wait();  // the head alone must have arrived
    connection.send("4\r\none\n\r\n");
    connection.send("0\r\n\r\n");
  }};
  pool_world world{application.where()};
  upstream_answer said = world.whole_answer_to(request{"GET", "/events"});
  EXPECT_EQ(said.content.head.body_text(), "");
  seen.set_value();
  EXPECT_EQ(world.all_of(*said.content.rest), "one\n");
}

TEST(UpstreamAnswer, G09ABodyWithoutLengthIsWholeWhenTheConnectionEnds) {
  scripted_application application{
      answering("HTTP/1.0 200 OK\r\n\r\nhello", [](raw_connection& c) { c.close(); })};
  pool_world world{application.where()};
  upstream_answer said = world.whole_answer_to(request{"GET", "/"});
  const std::string held{said.content.head.body_text()};
  EXPECT_EQ(held + world.all_of(*said.content.rest), "hello");
  EXPECT_EQ(world.pool().idle(), 0U);
}

TEST(UpstreamAnswer, D48ABodyThatIsCutOffIsNeverWhole) {
  const std::string half(20000, 'x');
  const auto closes = [](raw_connection& c) { c.close(); };
  const auto resets = [](raw_connection& c) { c.reset(); };
  const std::string counted = "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + half;
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
  scripted_application by_length{answering(counted, closes)};
  scripted_application by_chunk{answering(chunked, closes)};
  // The client reads what came before it lets the application reset the connection.
  std::promise<void> read;
  scripted_application by_reset{answering("HTTP/1.0 200 OK\r\n\r\nhello", [&](raw_connection& c) {
    read.get_future().wait();
    resets(c);
  })};
  for (const scripted_application* each : {&by_length, &by_chunk, &by_reset}) {
    pool_world world{each->where()};
    upstream_answer said = world.whole_answer_to(request{"GET", "/"});
    if (each == &by_reset) read.set_value();
    ASSERT_NE(said.content.rest, nullptr);
    EXPECT_TRUE(world.all_of(*said.content.rest).ends_with("<cut>"));
    EXPECT_EQ(world.all_of(*said.content.rest), "<cut>");  // and stays so
    EXPECT_EQ(world.pool().idle(), 0U);
  }
}

TEST(UpstreamAnswer, DroppingAnUnreadBodyClosesTheConnectionAndOutlivesThePool) {
  std::promise<bool> closed;
  scripted_application application{
      answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                [&](raw_connection& c) { closed.set_value(c.sees_end()); })};
  pool_world world{application.where()};
  upstream_answer said = world.whole_answer_to(request{"GET", "/"});
  world.drop_pool();
  said.content.rest.reset();
  EXPECT_TRUE(closed.get_future().get());
}

// --- Requests in pieces ------------------------------------------------------------------------

TEST(UpstreamRequest, StreamsByItsLengthOrInChunks) {
  std::promise<std::string> by_length;
  std::promise<std::string> in_chunks;
  std::promise<std::string> empty;
  scripted_application application{[&](raw_connection& connection, int) {
    for (std::promise<std::string>* each : {&by_length, &in_chunks, &empty}) {
      each->set_value(connection.read_request());
      connection.send(ok);
    }
  }};
  pool_world world{application.where()};
  header_list lines;
  lines.add("Host", "a");
  lines.add("Content-Length", "11");
  pieces counted{{"hello", " ", "world"}};
  EXPECT_EQ(world.answer_to(request{"POST", "/", lines}, &counted).status(), 200);
  lines.remove("Content-Length");
  pieces open{{"hello", std::string(20, '!')}};
  EXPECT_EQ(world.answer_to(request{"POST", "/", lines}, &open).status(), 200);
  pieces none{{}};
  EXPECT_EQ(world.answer_to(request{"POST", "/", lines}, &none).status(), 200);

  EXPECT_EQ(by_length.get_future().get(),
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world");
  EXPECT_EQ(in_chunks.get_future().get(),
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n14\r\n!!!!!!!!!!!!!!!!!!!!\r\n0\r\n\r\n");
  EXPECT_EQ(empty.get_future().get(),
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(application.connections(), 1);
}

TEST(UpstreamRequest, ABodyThatIsCutOffNeverLooksWhole) {
  for (const char* length : {"", "11", "3"}) {  // open, cut before its end, longer than announced
    std::promise<std::string> got;
    scripted_application application{
        [&](raw_connection& connection, int) { got.set_value(connection.read_request()); }};
    pool_world world{application.where()};
    header_list lines;
    if (*length != '\0') lines.add("Content-Length", length);
    pieces body{{"he", "llo"}, true};
    EXPECT_EQ(world.fault_of(request{"POST", "/", lines}, &body), upstream_fault::broken);
    EXPECT_EQ(got.get_future().get(), "") << length;  // its end was never seen
  }
}

TEST(UpstreamRequest, ABodyThatNeverBeganIsNotSent) {
  scripted_application application{answering(std::string{ok})};
  pool_world world{application.where()};
  pieces body{{}, true};
  EXPECT_EQ(world.fault_of(request{"POST", "/"}, &body), upstream_fault::unreachable);
  EXPECT_EQ(application.connections(), 0);
}

TEST(UpstreamRequest, AnEarlyAnswerEndsTheSending) {
  for (const bool streamed : {true, false}) {
    std::promise<bool> closed;
    scripted_application application{[&](raw_connection& connection, int) {
      connection.read_head();
      connection.send(
          "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 413 Content Too Large\r\n"
          "Content-Length: 3\r\n\r\nbig");
      // Never reads the body, and waits for the other side to give up.
      std::string last = "x";
      while (!last.empty()) last = connection.read_some();
      closed.set_value(true);
    }};
    pool_world world{application.where()};
    pieces body{std::vector<std::string>(1000, std::string(100000, 'x'))};
    const std::string held = streamed ? std::string{} : std::string(100000000, 'x');
    const response said =
        world.answer_to(request{"POST", "/", {}, {held}}, streamed ? &body : nullptr);
    EXPECT_EQ(said.status(), 413);
    EXPECT_EQ(said.body_text(), "big");
    EXPECT_EQ(world.interims, std::vector<int>{103});
    EXPECT_EQ(world.pool().idle(), 0U);
    EXPECT_TRUE(closed.get_future().get());
  }
}

TEST(UpstreamRequest, AnInterimAnswerDoesNotEndTheSending) {
  std::promise<std::size_t> got;
  scripted_application application{[&](raw_connection& connection, int) {
    const std::string head = connection.read_head();
    connection.send("HTTP/1.1 102 Processing\r\n\r\n");
    std::size_t bytes = 0;
    while (bytes < 30000000) bytes += connection.read_some(1000000).size();
    got.set_value(bytes);
    connection.send(ok);
  }};
  pool_world world{application.where()};
  EXPECT_EQ(world.answer_to(request{"POST", "/", {}, {std::string(30000000, 'x')}}).status(), 200);
  EXPECT_EQ(got.get_future().get(), 30000000U);
  EXPECT_EQ(world.interims, std::vector<int>{102});
  EXPECT_EQ(world.pool().idle(), 1U);
}

// --- Cancel ------------------------------------------------------------------------------------

TEST(UpstreamCancel, ClosesAConnectionThatWaitsForItsAnswer) {
  std::promise<void> arrived;
  std::promise<bool> closed;
  scripted_application application{[&](raw_connection& connection, int) {
    connection.read_request();
    arrived.set_value();
    closed.set_value(connection.sees_end());
  }};
  pool_world world{application.where()};
  std::stop_source cancel;
  std::optional<sent> got;
  world.begin(request{"POST", "/"}, got, nullptr, cancel.get_token());
  auto has_arrived = arrived.get_future();
  world.run_until([&] { return has_arrived.wait_for(0s) == std::future_status::ready; });
  EXPECT_FALSE(got.has_value());
  cancel.request_stop();
  world.run_until([&] { return got.has_value(); });
  EXPECT_EQ(std::get<upstream_fault>(*got), upstream_fault::broken);
  EXPECT_TRUE(closed.get_future().get());
}

TEST(UpstreamCancel, CutsABodyThatIsStillComing) {
  std::promise<bool> closed;
  scripted_application application{answering(
      "HTTP/1.1 200 OK\r\n\r\nhello", [&](raw_connection& c) { closed.set_value(c.sees_end()); })};
  pool_world world{application.where()};
  std::stop_source cancel;
  sent got = world.outcome_of(request{"GET", "/"}, nullptr, cancel.get_token());
  cancel.request_stop();
  EXPECT_TRUE(world.all_of(*std::get<upstream_answer>(got).content.rest).ends_with("<cut>"));
  EXPECT_TRUE(closed.get_future().get());
}

TEST(UpstreamCancel, BeforeAByteIsSentNothingCanHaveHappened) {
  scripted_application application{answering(std::string{ok})};
  pool_world world{application.where()};
  std::stop_source cancel;
  cancel.request_stop();
  const sent got = world.outcome_of(request{"POST", "/"}, nullptr, cancel.get_token());
  EXPECT_EQ(std::get<upstream_fault>(got), upstream_fault::unreachable);
  EXPECT_EQ(application.connections(), 0);
}

TEST(UpstreamCancel, DoesNothingToAConnectionThatIsBackInThePool) {
  scripted_application application{answering(std::string{ok})};
  pool_world world{application.where()};
  std::stop_source cancel;
  world.outcome_of(request{"POST", "/"}, nullptr, cancel.get_token());
  cancel.request_stop();
  EXPECT_EQ(world.answer_to(request{"POST", "/"}).status(), 200);
  EXPECT_EQ(application.connections(), 1);
}

// --- Waiting for a free connection ---------------------------------------------------------------

}  // namespace
}  // namespace callonce::gateway
