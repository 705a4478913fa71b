#include <algorithm>

#include <callonce/adapters/beast/answer.hpp>
#include <callonce/adapters/beast/loopback.hpp>
#include <callonce/engine/engine.hpp>
#include <callonce/stores/memory/store.hpp>

namespace callonce::beast {
namespace {

using namespace loopback;

/// An operation whose effects are counted.
struct charges {
  memory::store store;
  callonce::engine engine{store};
  std::atomic<int> effects = 0;
  route protect{engine, policy{}.scope(scope_from_header("X-Account")).key(key_demand::required),
                [this](claim&, const request& asked) -> asio::awaitable<outcome> {
                  ++effects;
                  response said{201, "text/plain", std::string{asked.body_text()}};
                  said.header("Location", "/charges/" + std::to_string(effects));
                  co_return callonce::answer{std::move(said)};
                }};
};

std::string post(std::string_view body, std::string_view more = "Idempotency-Key: k\r\n") {
  return "POST /charges HTTP/1.1\r\nHost: a\r\nX-Account: 1\r\n" + std::string{more} +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

TEST(through, runs_a_request_once_and_replays_its_answer) {
  charges api;
  host to{through(api.protect)};
  client one{to};
  const reply first = one.ask(post("{}"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.field("Idempotent-Replayed"), "");
  client two{to};
  const reply second = two.ask(post("{}"));
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.field("Idempotent-Replayed"), "true");
  EXPECT_EQ(second.field("Location"), "/charges/1");
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(two.ask(post("{1}")).status, 422);
  EXPECT_EQ(api.effects, 1);
}

// C34: the last byte counts, and the two framings are one payload.
TEST(through, compares_whole_bodies_whatever_their_framing) {
  charges api;
  host to{through(api.protect)};
  client one{to};
  for (const std::size_t size : {1, 4096, 30721, 1048575, 3000000}) {
    const std::string key = "Idempotency-Key: " + std::to_string(size) + "\r\n";
    std::string body = patterned(size);
    EXPECT_TRUE(one.ask(post(body, key)).body == body);
    const reply again = one.ask(
        "POST /charges HTTP/1.1\r\nHost: a\r\nX-Account: 1\r\nTransfer-Encoding: chunked\r\n" +
        key + "\r\n" + chunked(body, 1000));
    // An answer over the cap is not kept; its record still tells the payloads apart.
    EXPECT_EQ(again.status, size > 1048576 ? 409 : 201) << size;
    body.back() = static_cast<char>(body.back() + 1);
    EXPECT_EQ(one.ask(post(body, key)).status, 422) << size;
  }
}

// P-01, P-20, G-01: decided by the head, so neither body nor trailer is asked for.
TEST(through, refuses_by_the_head_alone) {
  charges api;
  host to{through(api.protect)};
  client one{to};
  const reply said = one.ask(post("", "Expect: 100-continue\r\n"));
  EXPECT_EQ(said.status, 400);
  EXPECT_TRUE(said.has("idempotency_key_missing"));
  client two{to};
  EXPECT_EQ(
      two.ask("POST / HTTP/1.1\r\nHost: a\r\nX-Account: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\nIdempotency-Key: k\r\n\r\n")
          .status,
      400);
  EXPECT_EQ(api.effects, 0);
}

// P-21.
TEST(through, finds_the_key_in_any_case) {
  charges api;
  host to{through(api.protect)};
  client one{to};
  for (int turn = 0; turn < 2; ++turn) one.ask(post("x", "iDEMPOTENCY-kEY: k\r\n"));
  EXPECT_EQ(api.effects, 1);
}

TEST(answer, answers_a_message_that_beast_has_read) {
  namespace http = boost::beast::http;
  charges api;
  http::request<http::string_body> asked{http::verb::post, "/charges", 11};
  asked.set("X-Account", "1");
  asked.set("Idempotency-Key", "k");
  asked.body() = "{}";
  asked.prepare_payload();
  std::vector<http::response<http::string_body>> said;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (int turn = 0; turn < 2; ++turn) said.push_back(co_await answer(api.protect, asked));
      },
      asio::detached);
  io.run();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].result_int(), 201U);
  EXPECT_EQ(said[0].body(), "{}");
  EXPECT_EQ(said[0]["Content-Length"], "2");
  EXPECT_EQ(said[0].count("Idempotent-Replayed"), 0U);
  EXPECT_EQ(said[1].body(), "{}");
  EXPECT_EQ(said[1]["Idempotent-Replayed"], "true");
  EXPECT_TRUE(said[1].keep_alive());
  EXPECT_EQ(api.effects, 1);
}

}  // namespace
}  // namespace callonce::beast
