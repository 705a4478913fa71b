#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gateway/fake_upstream.hpp>
#include <gateway/forwarded.hpp>
#include <gateway/pass_through.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

using namespace std::chrono_literals;

/// One end of a tunnel: gives its script, then an end once `may_end` is fired; remembers what was
/// written.
class scripted_stream final : public byte_stream {
 public:
  struct log {
    std::string written;
    bool finished = false;
    bool closed = false;
    detail::event may_end;
  };
  scripted_stream(std::shared_ptr<log> into, std::string script, bool fails_to_write = false)
      : log_(std::move(into)), script_(std::move(script)), fails_(fails_to_write) {}

  asio::awaitable<result<std::size_t>> read_some(std::span<std::byte> into) override {
    if (!script_.empty()) {
      const std::size_t bytes = std::min(into.size(), script_.size());
      std::copy_n(reinterpret_cast<const std::byte*>(script_.data()), bytes, into.begin());
      script_.erase(0, bytes);
      co_return bytes;
    }
    co_await log_->may_end.wait(system_environment(), steady_time::max());
    if (log_->closed) co_return make_error_code(errc::in_doubt);
    co_return std::size_t{0};
  }
  asio::awaitable<result<void>> write(std::span<const std::byte> bytes) override {
    if (fails_) co_return make_error_code(errc::in_doubt);
    log_->written.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    co_return result<void>{};
  }
  void finish_writing() override { log_->finished = true; }
  void close() override {
    log_->closed = true;
    log_->may_end.fire();
  }

 private:
  std::shared_ptr<log> log_;
  std::string script_;
  bool fails_;
};

class fake_exchange final : public beast::exchange {
 public:
  explicit fake_exchange(request asked) : head_(std::move(asked)) {}

  request& head() override { return head_; }
  const std::string& peer() const override { return peer_; }
  bool has_body() const override { return body != nullptr; }
  std::stop_token client_left() override { return left.get_token(); }
  asio::awaitable<std::variant<body_bytes, problem, beast::disconnected>> read_body(
      std::uint64_t) override {
    throw std::logic_error("an unprotected body is never read whole");
  }
  std::unique_ptr<body_source> stream_body() override { return std::move(body); }
  asio::awaitable<result<void>> send_interim(const response& interim) override {
    interims.push_back(interim);
    co_return result<void>{};
  }
  asio::awaitable<result<void>> send(answer final) override {
    sent = final.head;
    if (final.rest != nullptr) {
      streamed.emplace();
      for (;;) {
        const auto piece = co_await final.rest->next();
        if (!piece) co_return make_error_code(errc::in_doubt);
        if (piece->empty()) break;
        streamed->append(reinterpret_cast<const char*>(piece->data()), piece->size());
      }
    }
    co_return result<void>{};
  }
  std::unique_ptr<byte_stream> take_stream() override { return std::move(stream); }

  std::unique_ptr<body_source> body;
  std::unique_ptr<byte_stream> stream;
  std::stop_source left;
  std::vector<response> interims;
  std::optional<response> sent;
  std::optional<std::string> streamed;

 private:
  request head_;
  std::string peer_ = "192.0.2.7";
};

asio::awaitable<void> keep(asio::awaitable<int> work, std::optional<int>& into) {
  into = co_await std::move(work);
}

const problem_form plainly;
const answer_marks marks = [](response& said) { mark_for_client(said, "made-1"); };

// Passes `client` through to `to`; `meanwhile` runs as soon as nothing else can go on.
int pass(fake_exchange& client, fake_upstream& to, const std::function<void()>& meanwhile = {}) {
  asio::io_context io;
  std::optional<int> status;
  asio::co_spawn(
      io, keep(pass_through(client, to, "made-1", plainly, marks, system_environment()), status),
      asio::detached);
  io.poll();
  if (meanwhile) {
    meanwhile();
    io.restart();
    io.run_for(5s);
  }
  if (!status) throw std::runtime_error("it never ended");
  return *status;
}

request get(header_list more = {}) {
  header_list lines;
  lines.add("Host", "shop.example");
  for (const field& line : more) lines.add(line.name, line.value);
  return request{"GET", "/files/1", std::move(lines)};
}

TEST(PassThrough, BothBodiesStreamAndTheHeadsAreOfTheWholeWay) {
  fake_upstream application;
  response said{200, "text/plain", {"he"}};
  said.header("Content-Length", "5").header("Connection", "x-hop").header("X-Hop", "1");
  said.header("Keep-Alive", "timeout=5").header("Set-Cookie", "a=1").header("Set-Cookie", "b=2");
  application.will_answer(std::move(said), {"l", "lo"}, false);
  header_list more;
  more.add("Content-Length", "4");
  more.add("Accept-Encoding", "gzip");
  more.add("Idempotency-Claim", "forged");
  fake_exchange client{get(std::move(more))};
  client.body = std::make_unique<body_in_pieces>(std::vector<std::string>{"ab", "cd"});

  EXPECT_EQ(pass(client, application), 200);
  EXPECT_EQ(application.bodies.at(0), "abcd");
  const header_list& seen = application.seen.at(0).headers();
  EXPECT_EQ(*seen.find("Host"), "shop.example");
  EXPECT_EQ(*seen.find("Content-Length"), "4");
  EXPECT_EQ(*seen.find("Accept-Encoding"), "gzip");
  EXPECT_EQ(*seen.find("X-Forwarded-For"), "192.0.2.7");
  EXPECT_EQ(*seen.find("Via"), "1.1 callonce");
  EXPECT_EQ(seen.find("Idempotency-Claim"), nullptr);

  EXPECT_EQ(client.sent->body_text(), "he");
  EXPECT_EQ(client.streamed, "llo");
  const header_list& got = client.sent->headers();
  EXPECT_EQ(*got.find("Content-Length"), "5");
  EXPECT_EQ(got.count("Set-Cookie"), 2U);
  EXPECT_EQ(*got.find("Via"), "1.1 callonce");
  EXPECT_EQ(*got.find("X-Request-Id"), "made-1");
  for (const char* gone : {"Connection", "X-Hop", "Keep-Alive"}) {
    EXPECT_EQ(got.find(gone), nullptr) << gone;
  }
}

TEST(PassThrough, D49InterimAnswersReachTheClient) {
  fake_upstream application;
  application.will_hint(response{103}.header("Link", "a").header("Connection", "close"));
  application.will_answer(response{200});
  fake_exchange client{get()};
  EXPECT_EQ(pass(client, application), 200);
  ASSERT_EQ(client.interims.size(), 1U);
  EXPECT_EQ(client.interims[0].status(), 103);
  header_list expected;
  expected.add("Link", "a");
  EXPECT_EQ(client.interims[0].headers(), expected);
}

TEST(PassThrough, FaultsBeforeTheAnswerAreProblemsAndLaterOnesCut) {
  const auto code_after = [](upstream_fault fault) {
    fake_upstream application;
    application.will_fail(fault);
    fake_exchange client{get()};
    EXPECT_EQ(pass(client, application), 502);
    EXPECT_EQ(*client.sent->headers().find("Content-Type"), "application/problem+json");
    return std::string{client.sent->body_text()};
  };
  EXPECT_NE(code_after(upstream_fault::unreachable).find("\"upstream_unreachable\""),
            std::string::npos);
  EXPECT_NE(code_after(upstream_fault::broken).find("\"upstream_broken\""), std::string::npos);

  fake_upstream application;
  application.will_answer(response{200}, {"hel"}, true);
  fake_exchange client{get()};
  EXPECT_EQ(pass(client, application), 0);
}

TEST(PassThrough, ABodyThatDoesNotComeIsTheClientsFault) {
  fake_upstream application;
  application.will_answer(response{200});
  fake_exchange client{get()};
  client.body = std::make_unique<body_in_pieces>(std::vector<std::string>{"ab"}, true);
  EXPECT_EQ(pass(client, application), 408);
}

TEST(PassThrough, AClientThatLeavesEndsTheExchangeWithTheApplication) {
  fake_upstream application;
  application.will_hang();
  fake_exchange client{get()};
  pass(client, application, [&] { client.left.request_stop(); });
  EXPECT_TRUE(application.was_cancelled);
}

// What a client's upgrade becomes, and what is left of it after 101.
class Upgrade : public ::testing::Test {
 protected:
  static request asked(const char* protocol, const char* connection = "keep-alive, Upgrade") {
    header_list more;
    more.add("Connection", connection);
    more.add("Upgrade", protocol);
    more.add("Sec-WebSocket-Key", "x");
    return get(std::move(more));
  }
  void switch_protocols(fake_exchange& client, bool application_fails = false) {
    response said{101};
    said.header("Upgrade", "websocket").header("Connection", "Upgrade");
    application.will_switch(
        std::move(said), std::make_unique<scripted_stream>(of_application, "from the application",
                                                           application_fails));
    client.stream = std::make_unique<scripted_stream>(of_client, "from the client");
  }

  fake_upstream application;
  std::shared_ptr<scripted_stream::log> of_client = std::make_shared<scripted_stream::log>();
  std::shared_ptr<scripted_stream::log> of_application = std::make_shared<scripted_stream::log>();
};

TEST_F(Upgrade, BecomesATunnelThatLivesUntilBothSidesHaveEnded) {
  fake_exchange client{asked("websocket")};
  switch_protocols(client);
  asio::io_context io;
  std::optional<int> status;
  asio::co_spawn(
      io,
      keep(pass_through(client, application, "made-1", plainly, marks, system_environment()),
           status),
      asio::detached);
  io.poll();
  EXPECT_EQ(*application.seen.at(0).headers().find("Upgrade"), "websocket");
  EXPECT_EQ(client.sent->status(), 101);
  EXPECT_EQ(*client.sent->headers().find("Upgrade"), "websocket");
  EXPECT_EQ(of_application->written, "from the client");
  EXPECT_EQ(of_client->written, "from the application");

  of_client->may_end.fire();
  io.restart();
  io.poll();
  EXPECT_TRUE(of_application->finished);
  EXPECT_FALSE(status.has_value());
  of_application->may_end.fire();
  io.restart();
  io.poll();
  EXPECT_TRUE(of_client->finished);
  EXPECT_EQ(status, 101);
}

TEST_F(Upgrade, ASideThatBreaksEndsTheOther) {
  fake_exchange client{asked("websocket")};
  switch_protocols(client, true);
  EXPECT_EQ(pass(client, application), 101);
  EXPECT_TRUE(of_client->closed);
  EXPECT_TRUE(of_application->closed);
}

TEST_F(Upgrade, ARefusedOneIsAnAnswerLikeAnyOther) {
  fake_exchange client{asked("websocket")};
  application.will_answer(response{426}.header("Upgrade", "other"));
  EXPECT_EQ(pass(client, application), 426);
  EXPECT_EQ(client.sent->headers().find("Upgrade"), nullptr);
}

TEST_F(Upgrade, IsNotPassedOnUnnominatedOrToHttp2) {
  for (const auto& [protocol, connection] :
       {std::pair{"websocket", "keep-alive"}, std::pair{"h2c", "Upgrade, HTTP2-Settings"},
        std::pair{"websocket, H2C", "Upgrade"}}) {
    fake_exchange client{asked(protocol, connection)};
    application.will_answer(response{200});
    EXPECT_EQ(pass(client, application), 200);
    EXPECT_EQ(application.seen.back().headers().find("Upgrade"), nullptr) << protocol;
  }
}

}  // namespace
}  // namespace callonce::gateway
