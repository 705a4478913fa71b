#include <algorithm>
#include <charconv>
#include <thread>

#include <boost/json.hpp>
#include <conform/effect_app/answer.hpp>

namespace conform {
namespace {

namespace json = boost::json;

// The pieces of a streamed body: small enough that a whole one is never one write.
constexpr std::size_t chunk_bytes = 16 << 10;

std::string head(int status, const fields& lines) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Answer\r\n";
  for (const auto& [name, text] : lines) out += name + ": " + text + "\r\n";
  return out + "\r\n";
}

std::string chunk(std::string_view piece) {
  char size[17];
  const auto end = std::to_chars(size, size + sizeof size, piece.size(), 16).ptr;
  return std::string(size, end).append("\r\n").append(piece).append("\r\n");
}

// Tells one run's answer from another's, which is how a replay is told from a second run.
std::string default_body(const running& run) {
  return json::serialize(json::object{
             {"run", run.ticket.row}, {"ordinal", run.ticket.ordinal}, {"case", run.name}}) +
         "\n";
}

struct content {
  int status;
  fields lines;
  std::string body;
};

void negotiate(content& made, const running& run) {
  const bool xml = value(run.request.headers, "Accept").find("xml") != std::string::npos;
  made.body = xml ? "<run/>" : "{\"run\":1}";
  made.lines.emplace_back("Content-Type", xml ? "application/xml" : "application/json");
  if (value(run.request.headers, "Accept-Encoding").find("gzip") != std::string::npos) {
    // Not decodable on purpose: nobody may need to decode it.
    made.body = "\x1f\x8b\x08" + made.body;
    made.lines.emplace_back("Content-Encoding", "gzip");
  }
}

content content_of(const step& one, const running& run) {
  content made{one.status, one.headers, one.body.value_or(default_body(run))};
  if (one.size) made.body = pattern(*one.size);
  if (one.what == step::kind::negotiate) negotiate(made, run);
  if (one.what == step::kind::store) run.log.set_resource(run.name, made.body);
  if (one.what == step::kind::erase) run.log.set_resource(run.name, std::nullopt);
  if (one.what == step::kind::read) {
    const auto kept = run.log.resource(run.name);
    made.status = kept ? 200 : 404;
    made.body = kept.value_or("none");
  }
  const bool bodyless = made.status == 204 || made.status == 304;
  if (bodyless) made.body.clear();
  if (!bodyless && !has(made.lines, "Content-Type")) {
    made.lines.emplace_back("Content-Type", "application/json");
  }
  return made;
}

bool send_chunked(wire& to, const step& one, content& made, running& run) {
  made.lines.emplace_back("Transfer-Encoding", "chunked");
  if (!to.write(head(made.status, made.lines))) return false;
  for (std::string_view rest = made.body; !rest.empty();) {
    const auto piece = rest.substr(0, chunk_bytes);
    if (!to.write(chunk(piece))) return false;
    rest.remove_prefix(piece.size());
  }
  run.log.end(run.ticket.row, made.status);
  std::string last = "0\r\n";
  for (const auto& [name, text] : one.trailers) last += name + ": " + text + "\r\n";
  return to.write(last + "\r\n");
}

bool send_whole(wire& to, const step& one, running& run) {
  content made = content_of(one, run);
  if (one.frame == step::framing::chunked) return send_chunked(to, one, made, run);
  const bool length = one.frame == step::framing::length;
  if (length && made.status != 204 && made.status != 304) {
    made.lines.emplace_back("Content-Length", std::to_string(made.body.size()));
  }
  if (!length) made.lines.emplace_back("Connection", "close");
  run.log.end(run.ticket.row, made.status);
  if (run.request.method == "HEAD") made.body.clear();
  return to.write(head(made.status, made.lines) + made.body) && length;
}

bool send_truncated(wire& to, const step& one, running& run) {
  content made = content_of(one, run);
  made.lines.emplace_back("Content-Length", std::to_string(made.body.size()));
  run.log.end(run.ticket.row, 0);
  to.write(head(made.status, made.lines) + made.body.substr(0, made.body.size() / 2));
  return false;
}

bool send_events(wire& to, running& run) {
  const fields lines{{"Content-Type", "text/event-stream"}, {"Transfer-Encoding", "chunked"}};
  if (!to.write(head(200, lines) + chunk("data: 1\n\n"))) return false;
  run.log.wait_gate(run.name, run.ticket.ordinal);
  run.log.end(run.ticket.row, 200);
  return to.write(chunk("data: 2\n\n") + chunk("data: 3\n\n") + "0\r\n\r\n");
}

}  // namespace

bool carry_out(wire& to, const step& one, running& run) {
  if (one.pause.count() > 0) std::this_thread::sleep_for(one.pause);
  if (one.gate && one.what != step::kind::sse) run.log.wait_gate(run.name, run.ticket.ordinal);
  if (!one.hints.empty() && !to.write(head(103, one.hints))) return false;
  switch (one.what) {
    case step::kind::sse:
      return send_events(to, run);
    case step::kind::truncate:
      return send_truncated(to, one, run);
    case step::kind::reset:
      run.log.end(run.ticket.row, 0);
      to.reset_on_close();
      return false;
    case step::kind::hang:
      to.peer_leaves();
      run.log.end(run.ticket.row, 0);
      return false;
    case step::kind::upgrade:
      if (has(run.request.headers, "Upgrade")) {
        run.log.end(run.ticket.row, 101);
        to.write(head(101, {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}));
        to.peer_leaves();
        return false;
      }
      return send_whole(to, one, run);
    default:
      return send_whole(to, one, run);
  }
}

bool answer_json(wire& to, int status, const std::string& body) {
  return to.write(head(status, {{"Content-Type", "application/json"},
                                {"Content-Length", std::to_string(body.size())}}) +
                  body);
}

}  // namespace conform
