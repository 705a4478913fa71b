#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <cli/keys.hpp>
#include <cli/verbs.hpp>
#include <pwd.h>
#include <unistd.h>

#include <callonce/core/replay.hpp>

namespace callonce::cli {
namespace {

struct settle_options {
  store_options from;
  key_choice which;
  std::uint32_t attempt = 0;
  int status = 0;
  std::vector<std::string> headers;
  std::string body;
  std::string body_file;
  std::string file;
  std::string reason;
  bool json = false;
};

/// What is to become of a record: completed with an answer, or released.
struct decision {
  std::uint32_t attempt = 0;
  std::shared_ptr<const stored_answer> answer;
};

std::string operator_name() {
  const passwd* user = ::getpwuid(::getuid());
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host.clear();
  host.resize(host.find('\0'));
  return (user != nullptr ? user->pw_name : std::to_string(::getuid())) + "@" + host;
}

std::optional<std::string> read_whole(const std::string& file) {
  if (file == "-") return std::string{std::istreambuf_iterator<char>{std::cin}, {}};
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

/// An answer, or what is wrong with it.
using answer_or_mistake = std::variant<std::shared_ptr<const stored_answer>, std::string>;

answer_or_mistake make_answer(int status, header_list headers, std::string body) {
  if (status < 200 || status > 599) return "the status must be 200 to 599";
  if ((status == 204 || status == 304) && !body.empty()) return "this status has no body";
  for (const field& line : headers) {
    if (line.name.empty() || line.value.find_first_of("\r\n") != std::string::npos) {
      return "a header is written 'Name: value'";
    }
  }
  response said{status, std::move(headers), std::move(body)};
  // As the application's own answer would be kept, but for the caps: an operator means what he
  // says.
  return std::make_shared<const stored_answer>(freeze(said, {}, said.content().size()));
}

std::chrono::milliseconds released_retention(const gateway::configuration& of,
                                             const std::string& route) {
  for (const gateway::route_settings& each : of.routes) {
    if (each.policy.name == route) return each.policy.released_retention;
  }
  return of.defaults.policy.released_retention;
}

int apply(const opened_store& in, const record& found, const decision& what,
          const std::string& reason, bool json) {
  settlement wish;
  wish.id = found.id;
  wish.expected_attempt = what.attempt;
  wish.claim_id = new_claim_id(system_environment());
  wish.answer = what.answer;
  wish.released_retention = released_retention(in.configuration, found.terms.route);
  const settle_reason because{operator_name(), reason};
  const std::string id = found.id.record_id();
  const result<write_reply> reply = wait_for(in.records->settle(wish, because));
  if (!reply) {
    std::cerr << id << ": the store failed: " << reply.error().message() << '\n';
    return not_started;
  }
  if (reply->verdict == write_verdict::busy) {
    std::cerr << id << ": not applied: the application's own transaction holds it; try again\n";
    return not_applied;
  }
  if (reply->verdict == write_verdict::lease_lost) {
    const record& now = reply->current ? *reply->current : found;
    std::cerr << id << ": not applied: it is " << to_string(now.state) << " at attempt "
              << now.attempt << ", not open at attempt " << what.attempt << "; see keys show\n";
    return not_applied;
  }
  const char* became = what.answer ? "completed" : "released";
  if (json) {
    std::cout << boost::json::serialize(boost::json::object{{"id", id}, {"state", became}}) << '\n';
  } else {
    std::cout << id << ": " << became << '\n';
  }
  return done;
}

int settle_one(const settle_options& asked, std::shared_ptr<const stored_answer> answer) {
  const auto opened = open(asked.from);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  const auto& in = std::get<opened_store>(opened);
  const auto found = find_one(in, asked.which);
  if (const int* code = std::get_if<int>(&found)) return *code;
  return apply(in, std::get<found_record>(found).what, {asked.attempt, std::move(answer)},
               asked.reason, asked.json);
}

answer_or_mistake answer_given(const settle_options& asked) {
  header_list headers;
  for (const std::string& line : asked.headers) {
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    headers.add(colon == std::string::npos ? "" : line.substr(0, colon),
                value == std::string::npos ? "" : line.substr(value));
  }
  std::string body = asked.body;
  if (!asked.body_file.empty()) {
    auto read = read_whole(asked.body_file);
    if (!read) return "--body-file: " + asked.body_file + " cannot be read";
    body = std::move(*read);
  }
  return make_answer(asked.status, std::move(headers), std::move(body));
}

// {"id": …, "attempt": …, "status": …, "headers": [[name, value], …], "body": …}; without a status
// the record is released.
struct file_line {
  std::string id;
  decision what;
};
std::variant<file_line, std::string> read_line(const std::string& text) {
  boost::system::error_code fault;
  const boost::json::value parsed = boost::json::parse(text, fault);
  if (fault || !parsed.is_object()) return "is no JSON object";
  try {
    const boost::json::object& members = parsed.as_object();
    file_line made;
    made.id = boost::json::value_to<std::string>(members.at("id"));
    made.what.attempt = boost::json::value_to<std::uint32_t>(members.at("attempt"));
    const boost::json::value* status = members.if_contains("status");
    if (status == nullptr) return made;
    header_list headers;
    if (const boost::json::value* lines = members.if_contains("headers")) {
      for (const boost::json::value& line : lines->as_array()) {
        headers.add(boost::json::value_to<std::string>(line.as_array().at(0)),
                    boost::json::value_to<std::string>(line.as_array().at(1)));
      }
    }
    std::string body;
    if (const boost::json::value* text_given = members.if_contains("body")) {
      body = boost::json::value_to<std::string>(*text_given);
    }
    auto answer =
        make_answer(boost::json::value_to<int>(*status), std::move(headers), std::move(body));
    if (auto* wrong = std::get_if<std::string>(&answer)) return std::move(*wrong);
    made.what.answer = std::get<std::shared_ptr<const stored_answer>>(std::move(answer));
    return made;
  } catch (const std::exception&) {
    return "needs id and attempt; status, headers as [[name, value]] and body as text may follow";
  }
}

int settle_file(const settle_options& asked) {
  const auto text = read_whole(asked.file);
  if (!text) {
    std::cerr << "--file: " << asked.file << " cannot be read\n";
    return misused;
  }
  const auto opened = open(asked.from);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  const auto& in = std::get<opened_store>(opened);
  int worst = done;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto read = read_line(line);
    if (const auto* wrong = std::get_if<std::string>(&read)) {
      std::cerr << asked.file << ":" << number << ": " << *wrong << '\n';
      worst = std::max<int>(worst, misused);
      continue;
    }
    const auto& [id, what] = std::get<file_line>(read);
    key_choice which;
    which.id = id;
    const auto found = find_one(in, which);
    const int* code = std::get_if<int>(&found);
    worst = std::max(worst, code ? *code
                                 : apply(in, std::get<found_record>(found).what, what, asked.reason,
                                         asked.json));
  }
  return worst;
}

int settle(const settle_options& asked) {
  if (!asked.file.empty()) return settle_file(asked);
  if (asked.attempt == 0 || asked.status == 0) {
    std::cerr << "settle: --attempt N and --status S are needed; keys release has no status\n";
    return misused;
  }
  auto answer = answer_given(asked);
  if (const auto* wrong = std::get_if<std::string>(&answer)) {
    std::cerr << "settle: " << *wrong << '\n';
    return misused;
  }
  return settle_one(asked, std::get<std::shared_ptr<const stored_answer>>(std::move(answer)));
}

void add_common(CLI::App& verb, settle_options& into) {
  add_store_options(verb, into.from);
  add_key_choice(verb, into.which);
  verb.add_option("--attempt", into.attempt, "The attempt that keys show gives")->type_name("N");
  verb.add_option("--reason", into.reason, "Why; kept in the store's audit")
      ->type_name("TEXT")
      ->required();
  verb.add_flag("--json", into.json, "One JSON object for each record");
}

}  // namespace

void add_keys_release(CLI::App& keys, int& code) {
  auto asked = std::make_shared<settle_options>();
  CLI::App* verb =
      keys.add_subcommand("release", "Let the next retry run: the effect did not happen");
  add_common(*verb, *asked);
  verb->get_option("--attempt")->required();
  verb->callback([asked, &code] { code = settle_one(*asked, nullptr); });
}

void add_keys_settle(CLI::App& keys, int& code) {
  auto asked = std::make_shared<settle_options>();
  CLI::App* verb =
      keys.add_subcommand("settle", "Complete a record with the answer that every retry gets");
  add_common(*verb, *asked);
  verb->add_option("--status", asked->status, "Of the answer")->type_name("STATUS");
  verb->add_option("--header", asked->headers, "Of the answer; may be repeated")
      ->type_name("'NAME: VALUE'");
  CLI::Option* body = verb->add_option("--body", asked->body, "Of the answer")->type_name("TEXT");
  verb->add_option("--body-file", asked->body_file, "The body from a file, or - for standard input")
      ->type_name("FILE")
      ->excludes(body);
  verb->add_option("--file", asked->file, "Many records, one JSON object a line, or -")
      ->type_name("FILE");
  verb->footer(
      "A line of --file: {\"id\": \"9f86d081884c7d65\", \"attempt\": 2, \"status\": 201,\n"
      "\"headers\": [[\"Location\", \"/v1/charges/7\"]], \"body\": \"{}\"}; without a status the\n"
      "record is released. keys list --json gives ids and attempts.");
  verb->callback([asked, &code] { code = settle(*asked); });
}

}  // namespace callonce::cli
