#include <algorithm>
#include <functional>
#include <stdexcept>
#include <thread>

#include <boost/json.hpp>
#include <conform/effect_app/board.hpp>

namespace conform {
namespace {

namespace json = boost::json;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady::now().time_since_epoch())
      .count();
}

// Header bytes may be anything; JSON strings are UTF-8, so other bytes become `?`.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text;
}

}  // namespace

board::ticket board::begin(const std::string& name, const received& request) {
  const std::lock_guard guard{mutex_};
  run row;
  row.name = name;
  row.thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  row.request = request;
  row.request.body.clear();
  row.start_us = now_us();
  runs_.push_back(std::move(row));

  script& own = cases_[name];
  ticket given;
  given.row = runs_.size() - 1;
  own.rows.push_back(given.row);
  given.ordinal = static_cast<int>(own.rows.size());
  if (!own.answers.empty()) {
    given.scripted = std::move(own.answers.front());
    own.answers.pop_front();
  }
  changed_.notify_all();
  return given;
}

void board::end(std::size_t row, int status) {
  const std::lock_guard guard{mutex_};
  run& ended = runs_[row];
  if (ended.end_us != 0) return;
  ended.end_us = now_us();
  ended.status = status;
  ++cases_[ended.name].ended;
  changed_.notify_all();
}

bool board::wait_gate(const std::string& name, int ordinal) {
  std::unique_lock guard{mutex_};
  changed_.wait(guard, [&] { return closed_ || cases_[name].passes >= ordinal; });
  return !closed_;
}

void board::control(std::string_view text) {
  try {
    const json::value whole = json::parse({text.data(), text.size()});
    const json::object& order = whole.as_object();
    std::deque<step> answers;
    if (const json::value* given = order.if_contains("answers")) {
      for (const auto& one : given->as_array()) answers.push_back(parse_step(json::serialize(one)));
    }
    const std::lock_guard guard{mutex_};
    script& own = cases_[json::value_to<std::string>(order.at("case"))];
    if (order.contains("answers")) own.answers = std::move(answers);
    if (const json::value* go = order.if_contains("go")) {
      own.passes = std::max(own.passes, go->to_number<int>());
    }
  } catch (const std::exception& problem) {
    throw std::invalid_argument(problem.what());
  }
  changed_.notify_all();
}

std::string board::rows(const std::string& name, std::size_t starts, std::size_t ends,
                        std::chrono::milliseconds patience) {
  std::unique_lock guard{mutex_};
  changed_.wait_for(guard, patience, [&] {
    const script& own = cases_[name];
    return closed_ || (own.rows.size() >= starts && own.ended >= ends);
  });
  json::array listed;
  for (const std::size_t index : cases_[name].rows) {
    const run& row = runs_[index];
    json::array lines;
    for (const auto& [line_name, text] : row.request.headers) {
      lines.push_back(json::array{printable(line_name), printable(text)});
    }
    listed.push_back(json::object{
        {"id", index},
        {"case", row.name},
        {"thread", std::to_string(row.thread)},
        {"method", row.request.method},
        {"target", row.request.target},
        {"key", printable(value(row.request.headers, "Idempotency-Key"))},
        {"attempt", printable(value(row.request.headers, "Idempotency-Attempt"))},
        {"headers", std::move(lines)},
        {"start_us", row.start_us},
        {"end_us", row.end_us},
        {"status", row.status},
    });
  }
  return json::serialize(listed);
}

std::optional<std::string> board::resource(const std::string& name) {
  const std::lock_guard guard{mutex_};
  return cases_[name].resource;
}

void board::set_resource(const std::string& name, std::optional<std::string> to) {
  const std::lock_guard guard{mutex_};
  cases_[name].resource = std::move(to);
}

void board::close() {
  const std::lock_guard guard{mutex_};
  closed_ = true;
  changed_.notify_all();
}

}  // namespace conform
