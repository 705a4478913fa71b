#include <algorithm>
#include <array>
#include <barrier>
#include <random>
#include <thread>

#include <boost/json.hpp>
#include <conform/trial.hpp>

namespace conform {
namespace {

namespace json = boost::json;

std::string uuid() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& c : text) {
    if (c == 'x') c = digits[random() % digits.size()];
  }
  return text;
}

// Codes whose situation ends by itself, so that the same request may be sent again.
constexpr std::array<std::string_view, 11> retryable_codes{
    "idempotency_key_in_progress",
    "idempotency_claim_lost",
    "idempotency_store_unavailable",
    "upstream_unreachable",
    "upstream_timeout",
    "upstream_broken",
    "request_timeout",
    "overloaded",
    "draining",
    "early_data",
    "internal_error",
};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_record_id(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

reply ask_app(std::uint16_t app, std::string method, std::string target, std::string body) {
  request one;
  one.method = std::move(method);
  one.target = std::move(target);
  one.body = std::move(body);
  return exchange(app, one);
}

}  // namespace

subject trial::fresh() {
  const std::string id = uuid();
  return {"case-" + id, "tenant-" + id, '"' + uuid() + '"'};
}

subject trial::with_key(subject one, std::string header_value) {
  one.key = std::move(header_value);
  return one;
}

request trial::post(const subject& one, std::string_view path, std::string step) {
  request made;
  made.target = std::string{path} + "?case=" + one.name;
  made.add("X-Tenant", one.tenant).add("Content-Type", "application/json");
  made.add("Idempotency-Key", one.key);
  made.body = std::move(step);
  return made;
}

std::future<reply> trial::start(request one, const node& at) {
  return std::async(std::launch::async,
                    [one = std::move(one), port = at.port()] { return exchange(port, one); });
}

reply trial::send_until_settled(const request& one, const node& at, steady::duration patience) {
  const auto until = steady::now() + patience;
  auto pause = 20ms;
  for (;;) {
    reply seen = send(one, at);
    if (seen.status != 409 || steady::now() > until) return seen;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, 200ms);
  }
}

std::unique_ptr<node> trial::own_node(const node_options& options) {
  auto made = std::make_unique<node>(shared_.callonce, shared_.directory,
                                     "own-" + std::to_string(++shared_.made), options);
  made->start();
  return made;
}

std::string make_store(const fixture& shared, const std::string& name) {
  if (shared.new_store.empty()) return {};
  const command_result said =
      run_command({shared.new_store.string(), name}, shared.directory / (name + ".url"));
  if (said.code != 0) throw std::runtime_error("no store " + name + ": " + said.output);
  return said.output.substr(0, said.output.find('\n'));
}

void trial::needs_file_store() const {
  if (!shared_.new_store.empty()) throw skipped("the store is a server, not a file to be locked");
}

node_options trial::own_options() {
  node_options options;
  const std::string name = "own-" + std::to_string(++shared_.made);
  options.store = shared_.directory / (name + ".db");
  options.store_url = make_store(shared_, name);
  options.upstream = shared_.app;
  return options;
}

void trial::script(const subject& one, std::string_view steps) {
  const reply said =
      ask_app(shared_.app, "PUT", "/_control",
              "{\"case\":\"" + one.name + "\",\"answers\":" + std::string{steps} + "}");
  expect(said.status == 200, "the effect application takes the script: " + shown(said));
}

void trial::open_gate(const subject& one, int ordinal) {
  const reply said =
      ask_app(shared_.app, "PUT", "/_control",
              "{\"case\":\"" + one.name + "\",\"go\":" + std::to_string(ordinal) + "}");
  expect(said.status == 200, "the effect application opens a gate: " + shown(said));
}

std::vector<run_row> trial::runs(const subject& one, std::size_t starts, std::size_t ends) {
  const reply said = ask_app(shared_.app, "GET",
                             "/_log?case=" + one.name + "&starts=" + std::to_string(starts) +
                                 "&ends=" + std::to_string(ends) + "&wait_ms=10000",
                             {});
  std::vector<run_row> rows;
  boost::system::error_code problem;
  const json::value listed = json::parse(said.body, problem);
  if (problem || !listed.is_array()) {
    expect(false, "the effect log is readable: " + shown(said));
    return rows;
  }
  for (const auto& row : listed.get_array()) {
    run_row made;
    made.key = json::value_to<std::string>(row.at("key"));
    made.attempt = json::value_to<std::string>(row.at("attempt"));
    made.start_us = row.at("start_us").to_number<std::int64_t>();
    made.end_us = row.at("end_us").to_number<std::int64_t>();
    made.status = row.at("status").to_number<int>();
    for (const auto& line : row.at("headers").as_array()) {
      made.headers.emplace_back(json::value_to<std::string>(line.at(0)),
                                json::value_to<std::string>(line.at(1)));
    }
    rows.push_back(std::move(made));
  }
  return rows;
}

bool trial::await_runs(const subject& one, std::size_t starts, std::size_t ends) {
  const auto rows = runs(one, starts, ends);
  const auto ended = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const run_row& row) { return row.end_us != 0; }));
  return expect(rows.size() >= starts && ended >= ends,
                std::to_string(starts) + " runs begun and " + std::to_string(ends) +
                    " ended, seen " + std::to_string(rows.size()) + " and " +
                    std::to_string(ended));
}

bool trial::expect(bool met, std::string_view what) {
  if (met) return true;
  const std::lock_guard guard{mutex_};
  failures_.emplace_back(what);
  return false;
}

bool trial::first(const reply& seen, int status) {
  return expect(seen.complete && seen.status == status && !has(seen.headers, "Idempotent-Replayed"),
                "expected a first " + std::to_string(status) + ", seen " + shown(seen));
}

bool trial::replayed(const reply& seen, int status) {
  return expect(seen.complete && seen.status == status && seen.replayed(),
                "expected a replayed " + std::to_string(status) + ", seen " + shown(seen));
}

bool trial::replay_of(const reply& seen, const reply& original) {
  return replayed(seen, original.status) &&
         expect(seen.body == original.body, "the replay has the first answer's body") &&
         expect(values(seen.headers, "Location") == values(original.headers, "Location"),
                "the replay has the first answer's Location") &&
         expect(seen.get("Content-Type") == original.get("Content-Type"),
                "the replay has the first answer's Content-Type");
}

void trial::check_problem(const reply& seen, std::string_view code, std::string& wrong) {
  const auto need = [&wrong](bool met, std::string_view what) {
    if (!met) wrong.append(wrong.empty() ? "" : ", ").append(what);
  };
  const bool retryable =
      std::find(retryable_codes.begin(), retryable_codes.end(), code) != retryable_codes.end();
  need(seen.get("Content-Type").rfind("application/problem+json", 0) == 0, "problem+json");
  need(json_member(seen.body, "code") == code, "its code");
  need(json_member(seen.body, "type") == "urn:callonce:problem:" + std::string{code}, "its type");
  need(json_member(seen.body, "retryable") == (retryable ? "true" : "false"), "its retryable");
  need(lists(seen.headers, "Cache-Control", "no-store"), "no-store");
  need(!has(seen.headers, "Idempotent-Replayed"), "no replay mark");
  const std::string status = json_member(seen.body, "status");
  need(status.empty() || status == std::to_string(seen.status), "its status as the real one");
  const std::string record = json_member(seen.body, "record");
  need(record.empty() || is_record_id(record), "the record as 16 hex digits");
  const std::string wait = seen.get("Retry-After");
  need(retryable ? is_number(wait) && wait != "0" : wait.empty(),
       retryable ? "a whole Retry-After" : "no Retry-After");
}

bool trial::problem(const reply& seen, int status, std::string_view code) {
  const std::string named = std::to_string(status) + " " + std::string{code};
  if (!expect(seen.complete && seen.status == status,
              "expected " + named + ", seen " + shown(seen))) {
    return false;
  }
  std::string wrong;
  check_problem(seen, code, wrong);
  return expect(wrong.empty(), "expected of " + named + ": " + wrong + "; seen " + shown(seen));
}

bool trial::ran(const subject& one, std::size_t times) {
  const std::size_t seen = runs(one).size();
  return expect(seen == times,
                "expected " + std::to_string(times) + " runs, seen " + std::to_string(seen));
}

std::string trial::failures() const {
  const std::lock_guard guard{mutex_};
  // The first ones are the cause; the rest mostly follow from them.
  constexpr std::size_t shown_max = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown_max, failures_.size()); ++i) {
    text.append(i == 0 ? "" : "; ").append(failures_[i]);
  }
  if (failures_.size() > shown_max) {
    text += "; and " + std::to_string(failures_.size() - shown_max) + " more";
  }
  return text;
}

std::string json_member(const std::string& object, std::string_view name) {
  boost::system::error_code problem;
  const json::value whole = json::parse(object, problem);
  const json::value* found = problem || !whole.is_object()
                                 ? nullptr
                                 : whole.get_object().if_contains({name.data(), name.size()});
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? json::value_to<std::string>(*found) : json::serialize(*found);
}

std::string shown(const reply& one) {
  std::string text = std::to_string(one.status);
  if (one.replayed()) text += " replayed";
  const std::string code = json_member(one.body, "code");
  if (!code.empty()) text += " " + code;
  if (!one.complete) text += " incomplete (" + one.error + ")";
  if (code.empty() && !one.body.empty()) {
    text += " body of " + std::to_string(one.body.size()) + " bytes";
  }
  return text;
}

void in_parallel(int count, const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

std::vector<reply> simultaneously(const request& one, int count,
                                  const std::vector<const node*>& nodes) {
  std::vector<reply> answers(static_cast<std::size_t>(count));
  std::barrier connected{count};
  in_parallel(count, [&](int i) {
    const auto index = static_cast<std::size_t>(i);
    connection own{nodes[index % nodes.size()]->port()};
    connected.arrive_and_wait();
    answers[index] = own.exchange(one);
  });
  return answers;
}

}  // namespace conform
