#include <charconv>
#include <optional>

#include <gateway/outgoing_body.hpp>

namespace callonce::gateway {
namespace {

std::optional<std::uint64_t> announced_length(const request& asked) {
  const std::string* text = asked.headers().find("Content-Length");
  if (text == nullptr) return std::nullopt;
  std::uint64_t length = 0;
  const char* const last = text->data() + text->size();
  const auto [end, fault] = std::from_chars(text->data(), last, length);
  if (fault != std::errc{} || end != last) return std::nullopt;
  return length;
}

// RFC 9110 section 8.6: methods whose content means something say so when there is none.
bool anticipates_content(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

outgoing_body::outgoing_body(const request& asked, body_source* streamed) : source_(streamed) {
  if (streamed == nullptr) {
    piece_ = asked.body();
    length_ = piece_.size();
    whole_ = true;
    if (!piece_.empty() || anticipates_content(asked.method())) form_ = form::length;
  } else if (const auto length = announced_length(asked)) {
    form_ = form::length;
    length_ = left_ = *length;
    whole_ = length_ == 0;
  } else {
    form_ = form::chunks;
  }
}

std::string outgoing_body::framing() const {
  switch (form_) {
    case form::length:
      return "Content-Length: " + std::to_string(length_) + "\r\n";
    case form::chunks:
      return "Transfer-Encoding: chunked\r\n";
    case form::none:
      break;
  }
  return {};
}

asio::awaitable<bool> outgoing_body::fetch() {
  const auto next = co_await source_->next();
  if (!next) co_return false;
  piece_ = *next;
  if (form_ == form::chunks) {
    whole_ = piece_.empty();
    co_return true;
  }
  if (piece_.empty() || piece_.size() > left_) co_return false;
  left_ -= piece_.size();
  whole_ = left_ == 0;
  co_return true;
}

void outgoing_body::add_to(gathered_bytes& bytes) {
  if (form_ != form::chunks) {
    bytes.add(piece_);
  } else if (piece_.empty()) {
    bytes.add("0\r\n\r\n");
  } else {
    char* end = std::to_chars(chunk_head_.data(), chunk_head_.data() + 16, piece_.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    bytes.add(std::string_view{chunk_head_.data(), end});
    bytes.add(piece_);
    bytes.add("\r\n");
  }
}

}  // namespace callonce::gateway
