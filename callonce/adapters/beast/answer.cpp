#include <string>
#include <utility>

#include <boost/system/system_error.hpp>

#include <callonce/adapters/beast/answer.hpp>
#include <callonce/core/replay.hpp>

namespace callonce::beast {
namespace {

namespace http = boost::beast::http;

std::string text_of(boost::beast::string_view from) {
  return {from.data(), from.size()};
}

request request_of(http::request<http::string_body>&& asked) {
  header_list headers;
  for (const auto& line : asked) headers.add(text_of(line.name_string()), text_of(line.value()));
  return request{text_of(asked.method_string()), text_of(asked.target()), std::move(headers),
                 body_bytes{std::move(asked.body())}};
}

asio::awaitable<std::string> body_of(callonce::answer& said) {
  std::string whole{said.head.body_text()};
  while (said.rest != nullptr) {
    const result<std::span<const std::byte>> more = co_await said.rest->next();
    if (!more) throw boost::system::system_error{more.error()};
    if (more->empty()) break;
    whole.append(reinterpret_cast<const char*>(more->data()), more->size());
  }
  co_return whole;
}

}  // namespace

asio::awaitable<http::response<http::string_body>> answer(route& by,
                                                          http::request<http::string_body> asked) {
  const unsigned version = asked.version();
  const bool keep_alive = asked.keep_alive();
  const bool is_head = asked.method() == http::verb::head;
  callonce::answer said = co_await by.answer(request_of(std::move(asked)));

  http::response<http::string_body> made;
  made.version(version);
  made.result(static_cast<unsigned>(said.head.status()));
  header_list headers = said.head.headers();
  headers.keep_if([](const field& line) {
    return !is_hop_by_hop(line.name) && !same_name(line.name, "Content-Length");
  });
  for (const field& line : headers) made.insert(line.name, line.value);
  made.keep_alive(keep_alive);
  std::string body = co_await body_of(said);
  if (is_head) {
    made.content_length(body.size());
  } else {
    made.body() = std::move(body);
    made.prepare_payload();
  }
  co_return made;
}

}  // namespace callonce::beast
