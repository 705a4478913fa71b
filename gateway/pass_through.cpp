#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <gateway/forwarded.hpp>
#include <gateway/pass_through.hpp>

#include <callonce/core/problem.hpp>
#include <callonce/core/replay.hpp>
#include <callonce/engine/event.hpp>

namespace callonce::gateway {
namespace {

// What an upgrade asks for, or nothing. `h2c` is left out: an HTTP/2 connection in the tunnel
// would carry requests that no rule of this gateway sees.
std::string upgrade_of(const header_list& lines) {
  const std::string* wish = lines.find("Upgrade");
  if (wish == nullptr) return {};
  bool nominated = false;
  for (const field& line : lines) {
    if (!same_name(line.name, "Connection")) continue;
    for_each_token(line.value, [&](std::string_view token) {
      nominated = nominated || same_name(token, "Upgrade");
    });
  }
  bool is_http = false;
  for_each_token(*wish,
                 [&](std::string_view token) { is_http = is_http || same_name(token, "h2c"); });
  return nominated && !is_http ? *wish : std::string{};
}

// Remembers whether the client's body was cut off, so that it is not the application's fault.
class watched_source final : public body_source {
 public:
  explicit watched_source(std::unique_ptr<body_source> of) : of_(std::move(of)) {}
  bool was_cut() const noexcept { return cut_; }
  asio::awaitable<result<std::span<const std::byte>>> next() override {
    auto piece = co_await of_->next();
    if (!piece) cut_ = true;
    co_return piece;
  }

 private:
  std::unique_ptr<body_source> of_;
  bool cut_ = false;
};

struct tunnel {
  std::unique_ptr<byte_stream> client;
  std::unique_ptr<byte_stream> application;
  detail::event both_ended;
  int open = 2;
};

// One direction, until its source ends or its sink fails.
asio::awaitable<void> pump(std::shared_ptr<tunnel> both, byte_stream& from, byte_stream& into) {
  std::array<std::byte, 16 << 10> piece;
  for (;;) {
    const auto bytes = co_await from.read_some(piece);
    if (bytes && *bytes == 0) {
      into.finish_writing();
      break;
    }
    bool failed = !bytes;
    if (bytes) {
      const result<void> written = co_await into.write(std::span{piece}.first(*bytes));
      failed = written.has_error();
    }
    if (failed) {
      both->client->close();
      both->application->close();
      break;
    }
  }
  if (--both->open == 0) both->both_ended.fire();
}

asio::awaitable<void> run_tunnel(std::unique_ptr<byte_stream> client,
                                 std::unique_ptr<byte_stream> application, environment& in) {
  const auto both = std::make_shared<tunnel>();
  both->client = std::move(client);
  both->application = std::move(application);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::co_spawn(executor, pump(both, *both->application, *both->client), asio::detached);
  co_await pump(both, *both->client, *both->application);
  co_await both->both_ended.wait(in, steady_time::max());
}

// What the client may see of an answer that is no record's: its length stays, nothing is replayed.
void strip_for_pass_through(header_list& lines, bool switching) {
  const auto kept = [&](std::string_view name) {
    const std::string* value = lines.find(name);
    return value != nullptr ? *value : std::string{};
  };
  const std::string length = kept("Content-Length");
  const std::string upgrade = switching ? kept("Upgrade") : std::string{};
  strip_for_client(lines);
  if (!length.empty()) lines.add("Content-Length", length);
  if (!upgrade.empty()) lines.add("Upgrade", upgrade);
}

}  // namespace

asio::awaitable<int> pass_through(beast::exchange& client, upstream& to,
                                  std::string_view request_id, const problem_form& problems,
                                  const answer_marks& mark, environment& in) {
  request asked = std::move(client.head());
  const std::string upgrade = upgrade_of(asked.headers());
  prepare_for_application(asked, client.peer(), request_id);
  if (!upgrade.empty()) asked.headers().add("Upgrade", upgrade);
  std::unique_ptr<watched_source> body;
  if (client.has_body()) body = std::make_unique<watched_source>(client.stream_body());

  const upstream::interim tell_client = [&](const response& said) -> asio::awaitable<void> {
    response interim = said;
    strip_for_client(interim.headers());
    // A client that is gone is told by `client_left`.
    static_cast<void>(co_await client.send_interim(interim));
  };
  auto got = co_await to.send(asked, body.get(), tell_client, client.client_left());

  answer reply;
  std::unique_ptr<byte_stream> application;
  if (const auto* fault = std::get_if<upstream_fault>(&got)) {
    const bool unreachable = *fault == upstream_fault::unreachable;
    problem_code why =
        unreachable ? problem_code::upstream_unreachable : problem_code::upstream_broken;
    if (body && body->was_cut()) why = problem_code::request_timeout;
    reply.head = to_response(why, problems);
  } else {
    auto& said = std::get<upstream_answer>(got);
    reply = std::move(said.content);
    application = std::move(said.tunnel);
    strip_for_pass_through(reply.head.headers(), application != nullptr);
  }
  mark(reply.head);
  const int status = reply.head.status();
  const result<void> sent = co_await client.send(std::move(reply));
  if (!sent) co_return 0;
  if (application) co_await run_tunnel(client.take_stream(), std::move(application), in);
  co_return status;
}

}  // namespace callonce::gateway
