#include <conform/effect_app/server.hpp>
#include <conform/http/message.hpp>
#include <gtest/gtest.h>

namespace conform {
namespace {

request post(std::string step, std::string name = "one") {
  request made;
  made.target = "/e?case=" + name;
  made.body = std::move(step);
  return made;
}

class effect_app : public ::testing::Test {
 protected:
  reply send(const request& one) { return exchange(server_.port(), one, std::chrono::seconds{5}); }
  reply control(std::string order) {
    request one;
    one.method = "PUT";
    one.target = "/_control";
    one.body = std::move(order);
    return send(one);
  }
  std::string log(const std::string& query) {
    request one;
    one.method = "GET";
    one.target = "/_log?" + query;
    return send(one).body;
  }

  effect_server server_;
};

TEST_F(effect_app, answers_by_length_chunks_or_end_of_connection) {
  for (const char* framing : {"length", "chunked", "close"}) {
    const reply seen = send(post(std::string{R"({"size":100000,"framing":")"} + framing + "\"}"));
    EXPECT_TRUE(seen.complete) << framing << " " << seen.error;
    EXPECT_EQ(seen.status, 201);
    EXPECT_EQ(seen.body, pattern(100000)) << framing;
  }
}

TEST_F(effect_app, sends_trailers_and_early_hints) {
  const reply seen = send(post(R"({"trailers":[["X-Sum","42"]],"hints":[["Link","</a>"]]})"));
  EXPECT_TRUE(seen.complete) << seen.error;
  EXPECT_EQ(value(seen.trailers, "x-sum"), "42");
  EXPECT_FALSE(has(seen.headers, "X-Sum"));
  ASSERT_EQ(seen.interim.size(), 1u);
  EXPECT_EQ(seen.interim.front().first, 103);
  EXPECT_EQ(value(seen.interim.front().second, "Link"), "</a>");
}

TEST_F(effect_app, keeps_lines_of_one_name_apart_and_in_order) {
  const reply seen = send(post(R"({"headers":[["X-A","1"],["Link","</a>"],["X-A","2, 3"]]})"));
  EXPECT_EQ(values(seen.headers, "x-a"), (std::vector<std::string>{"1", "2, 3"}));
}

TEST_F(effect_app, a_cut_off_answer_is_not_complete) {
  const reply cut = send(post(R"({"do":"truncate","size":1000})"));
  EXPECT_EQ(cut.status, 201);
  EXPECT_FALSE(cut.complete);
  const reply none = send(post(R"({"do":"reset"})"));
  EXPECT_EQ(none.status, 0);
  EXPECT_FALSE(none.complete);
}

TEST_F(effect_app, follows_a_script_and_then_the_body) {
  EXPECT_EQ(control(R"({"case":"one","answers":[{"status":503},{"status":402}]})").status, 200);
  EXPECT_EQ(send(post("{}")).status, 503);
  EXPECT_EQ(send(post("{}")).status, 402);
  EXPECT_EQ(send(post(R"({"status":200})")).status, 200);
}

TEST_F(effect_app, reads_chunked_requests_and_answers_pipelined_ones_in_order) {
  request chunked = post(R"({"status":202})");
  chunked.chunked = true;
  chunked.trailers.emplace_back("Idempotency-Key", "\"k\"");
  connection client{server_.port()};
  ASSERT_TRUE(client.raw().write(chunked.bytes() + post(R"({"status":204})").bytes()));
  EXPECT_EQ(client.receive().status, 202);
  const reply second = client.receive();
  EXPECT_EQ(second.status, 204);
  EXPECT_TRUE(second.complete);
  EXPECT_NE(log("case=one").find("\"key\":\"\""), std::string::npos) << "a trailer is no header";
}

TEST_F(effect_app, logs_a_gated_run_before_and_after_its_end) {
  connection client{server_.port()};
  ASSERT_TRUE(client.send(post(R"({"gate":true})")));
  EXPECT_NE(log("case=one&starts=1&wait_ms=5000").find("\"end_us\":0"), std::string::npos);
  control(R"({"case":"one","go":1})");
  EXPECT_EQ(client.receive().status, 201);
  EXPECT_EQ(log("case=one&ends=1&wait_ms=5000").find("\"end_us\":0"), std::string::npos);
  EXPECT_EQ(log("case=other"), "[]");
}

TEST_F(effect_app, another_path_or_method_is_no_run) {
  request unknown = post("{}");
  unknown.target = "/nowhere?case=one";
  EXPECT_EQ(send(unknown).status, 404);
  request wrong = post("{}");
  wrong.method = "PUT";
  EXPECT_EQ(send(wrong).status, 405);
  EXPECT_EQ(log("case=one"), "[]");
}

TEST_F(effect_app, a_silent_server_makes_the_client_give_up) {
  const reply seen =
      exchange(server_.port(), post(R"({"do":"hang"})"), std::chrono::milliseconds{100});
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(seen.error, "late");
}

TEST(message, writes_values_as_they_are) {
  request one;
  one.target = "/e";
  one.add("Idempotency-Key", " \"a\tb\" ").add("X", "1");
  one.body = "{}";
  EXPECT_EQ(one.bytes(),
            "POST /e HTTP/1.1\r\nHost: conform.test\r\nIdempotency-Key:  \"a\tb\" \r\nX: 1\r\n"
            "Content-Length: 2\r\n\r\n{}");
  EXPECT_TRUE(has(one.drop("x").headers, "idempotency-key"));
  EXPECT_FALSE(has(one.headers, "X"));
}

}  // namespace
}  // namespace conform
