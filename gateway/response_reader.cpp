#include <algorithm>
#include <limits>

#include <boost/beast/http/basic_parser.hpp>
#include <gateway/response_reader.hpp>

#include <callonce/core/replay.hpp>

namespace callonce::gateway {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Beast takes lists of lengths and codings that it does not undo; an application that sends one
// means something that this hop cannot know.
bool is_plainly_framed(const header_list& lines, int version) {
  const std::size_t lengths = lines.count("Content-Length");
  const std::size_t codings = lines.count("Transfer-Encoding");
  if (lengths + codings > 1) return false;
  if (lengths == 1) return is_number(*lines.find("Content-Length"));
  if (codings == 1) {
    return version >= 11 && same_name(*lines.find("Transfer-Encoding"), "chunked");
  }
  return true;
}

}  // namespace

struct response_reader::parser final : http::basic_parser<false> {
  explicit parser(std::string& into) : body(into) {}

  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int of_version, error_code& fault) override {
    status = code;
    version = of_version;
    if (code < 100) fault = http::error::bad_status;
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    header_list& into = head_done ? trailers : lines;
    into.add(std::string{name}, std::string{value});
  }
  void on_header_impl(error_code& fault) override {
    head_done = true;
    if (!is_plainly_framed(lines, version)) fault = http::error::bad_transfer_encoding;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view piece, error_code&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_finish_impl(error_code&) override {}

  std::string& body;
  header_list lines;
  header_list trailers;
  int status = 0;
  int version = 11;
  bool head_done = false;
};

response_reader::response_reader(std::size_t header_bytes_max)
    : header_bytes_max_(static_cast<std::uint32_t>(
          std::min<std::size_t>(header_bytes_max, std::numeric_limits<std::uint32_t>::max()))) {
  start(false);
}
response_reader::~response_reader() = default;

void response_reader::start(bool answers_head) {
  body_.clear();
  at_ = stage::head;
  parser_ = std::make_unique<parser>(body_);
  parser_->eager(true);
  parser_->header_limit(header_bytes_max_);
  parser_->body_limit(boost::none);  // whoever reads the body bounds it
  parser_->skip(answers_head);
}

std::size_t response_reader::feed(std::string_view bytes) {
  if (bytes.empty() || at_ == stage::complete || at_ == stage::broken) return 0;
  error_code fault;
  const std::size_t used = parser_->put({bytes.data(), bytes.size()}, fault);
  if (fault && fault != http::error::need_more) {
    at_ = stage::broken;
  } else if (parser_->is_done()) {
    at_ = stage::complete;
  } else if (parser_->is_header_done()) {
    at_ = stage::body;
  }
  return used;
}

void response_reader::end() {
  if (at_ == stage::complete) return;
  error_code fault = http::error::end_of_stream;
  if (parser_->got_some()) parser_->put_eof(fault);
  at_ = fault ? stage::broken : stage::complete;
}

void response_reader::fail() noexcept {
  if (at_ != stage::complete) at_ = stage::broken;
}

bool response_reader::is_interim() const noexcept {
  return at_ == stage::complete && parser_->status / 100 == 1 && parser_->status != 101;
}

bool response_reader::is_decided() const noexcept {
  return at_ != stage::head && !is_interim();
}

bool response_reader::keeps_alive() const noexcept {
  return parser_->keep_alive();
}

response response_reader::take() {
  response taken{parser_->status, std::move(parser_->lines), std::move(body_)};
  body_.clear();
  taken.trailers() = trailers();
  return taken;
}

header_list response_reader::trailers() {
  header_list taken = std::move(parser_->trailers);
  strip_trailers(taken);
  return taken;
}

std::optional<std::uint64_t> response_reader::body_left() const {
  const auto left = parser_->content_length_remaining();
  return left ? std::optional<std::uint64_t>{*left} : std::nullopt;
}

}  // namespace callonce::gateway
