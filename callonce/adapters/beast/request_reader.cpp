#include <limits>
#include <optional>
#include <string>

#include <boost/beast/http/basic_parser.hpp>

#include <callonce/adapters/beast/request_reader.hpp>
#include <callonce/core/target.hpp>

namespace callonce::beast::detail {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

namespace {

// Beast's own parser below its containers: fields come in order, and trailers can be told apart.
class callbacks final : public http::basic_parser<true> {
 public:
  callbacks() {
    // Both are judged outside, where the route's own limits are known.
    body_limit(boost::none);
    header_limit(std::numeric_limits<std::uint32_t>::max());
  }

  std::string method;
  std::string target;
  header_list fields;
  int version = 0;
  string_view piece;

 private:
  void on_request_impl(http::verb /*known*/, string_view name, string_view asked, int spoken,
                       error_code& /*fault*/) override {
    version = spoken;
    method.assign(name.data(), name.size());
    target.assign(asked.data(), asked.size());
    fields.reserve(16);
  }
  void on_response_impl(int /*status*/, string_view /*reason*/, int /*version*/,
                        error_code& /*fault*/) override {}
  void on_field_impl(http::field /*known*/, string_view name, string_view value,
                     error_code& /*fault*/) override {
    if (is_header_done()) return;  // a trailer
    fields.add(std::string{name.data(), name.size()}, std::string{value.data(), value.size()});
  }
  void on_header_impl(error_code& /*fault*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         error_code& /*fault*/) override {}
  std::size_t on_body_impl(string_view bytes, error_code& /*fault*/) override {
    piece = bytes;
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/,
                            error_code& /*fault*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, string_view bytes,
                                 error_code& /*fault*/) override {
    piece = bytes;
    return bytes.size();
  }
  void on_finish_impl(error_code& /*fault*/) override {}
};

std::string_view word_for(const error_code& fault) {
  if (fault == http::error::bad_version) return "version";
  if (fault == http::error::bad_content_length) return "content_length";
  if (fault == http::error::multiple_content_length) return "content_length";
  if (fault == http::error::bad_transfer_encoding) return "transfer_encoding";
  return "malformed";
}

}  // namespace

struct request_reader::parser {
  std::optional<callbacks> current;
};

request_reader::request_reader() : parser_(std::make_unique<parser>()) {
  start();
}

request_reader::~request_reader() = default;

void request_reader::start() {
  scan_ = head_scan{};
  parser_->current.emplace();
  length_left_ = 0;
}

request_reader::status request_reader::refuse(std::string_view why) {
  reason_ = why;
  return status::malformed;
}

bool request_reader::http_1_1() const noexcept {
  return parser_->current->version == 11;
}

request_reader::status request_reader::read_head(std::string_view bytes) {
  const head_scan::state found = scan_.look(bytes);
  if (found == head_scan::state::malformed) return refuse(scan_.reason());
  if (found == head_scan::state::more) return status::more;
  if (bytes.starts_with("PRI * HTTP/2.0")) return refuse("http2_not_spoken");

  callbacks& current = *parser_->current;
  error_code fault;
  current.put(boost::asio::const_buffer{bytes.data(), scan_.size()}, fault);
  if (fault) return refuse(word_for(fault));
  frame_ = judge_framing(http_1_1(), current.fields);
  if (!frame_.refusal.empty()) return refuse(frame_.refusal);

  length_left_ = frame_.content_length;
  is_head_ = current.method == "HEAD";
  std::optional<normal_target> target = normalise_target(current.method, current.target);
  if (!target) return refuse("target");
  // The target's own authority counts (RFC 9112 section 3.2.2).
  if (!target->authority.empty()) current.fields.set("Host", std::move(target->authority));
  head_ = request{std::move(current.method), std::move(target->target), std::move(current.fields)};
  return status::ready;
}

request_reader::step request_reader::read_body(std::string_view bytes) {
  callbacks& current = *parser_->current;
  step taken;
  while (!current.is_done() && taken.used < bytes.size()) {
    const std::string_view rest = bytes.substr(taken.used);
    error_code fault;
    current.piece = {};
    taken.used += current.put(boost::asio::const_buffer{rest.data(), rest.size()}, fault);
    if (fault == http::error::need_more) return taken;
    if (fault) {
      taken.what = refuse("chunk");
      return taken;
    }
    if (!current.piece.empty()) {
      taken.piece = {current.piece.data(), current.piece.size()};
      length_left_ -= std::min<std::uint64_t>(length_left_, current.piece.size());
      break;
    }
  }
  if (!taken.piece.empty() || current.is_done()) taken.what = status::ready;
  return taken;
}

bool request_reader::body_done() const noexcept {
  return parser_->current->is_done();
}

}  // namespace callonce::beast::detail
