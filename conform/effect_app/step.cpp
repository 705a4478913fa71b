#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <conform/effect_app/step.hpp>

namespace conform {
namespace {

namespace json = boost::json;

template <typename Value, std::size_t Count>
Value named(const std::array<std::pair<std::string_view, Value>, Count>& names,
            const json::string& name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& one) {
    return one.first == std::string_view{name.data(), name.size()};
  });
  if (found == names.end()) throw std::invalid_argument("unknown name");
  return found->second;
}

constexpr std::array<std::pair<std::string_view, step::kind>, 10> kinds{{
    {"ok", step::kind::ok},
    {"sse", step::kind::sse},
    {"truncate", step::kind::truncate},
    {"reset", step::kind::reset},
    {"hang", step::kind::hang},
    {"upgrade", step::kind::upgrade},
    {"negotiate", step::kind::negotiate},
    {"store", step::kind::store},
    {"erase", step::kind::erase},
    {"read", step::kind::read},
}};

constexpr std::array<std::pair<std::string_view, step::framing>, 3> framings{{
    {"length", step::framing::length},
    {"chunked", step::framing::chunked},
    {"close", step::framing::close},
}};

fields lines(const json::value& pairs) {
  fields made;
  for (const auto& pair : pairs.as_array()) {
    made.emplace_back(json::value_to<std::string>(pair.at(0)),
                      json::value_to<std::string>(pair.at(1)));
  }
  return made;
}

void apply(step& one, std::string_view name, const json::value& to) {
  if (name == "do") {
    one.what = named(kinds, to.as_string());
  } else if (name == "status") {
    one.status = to.to_number<int>();
  } else if (name == "headers") {
    one.headers = lines(to);
  } else if (name == "body") {
    one.body = json::value_to<std::string>(to);
  } else if (name == "size") {
    one.size = to.to_number<std::size_t>();
  } else if (name == "framing") {
    one.frame = named(framings, to.as_string());
  } else if (name == "trailers") {
    one.trailers = lines(to);
    one.frame = step::framing::chunked;
  } else if (name == "hints") {
    one.hints = lines(to);
  } else if (name == "pause_ms") {
    one.pause = std::chrono::milliseconds{to.to_number<int>()};
  } else if (name == "gate") {
    one.gate = to.as_bool();
  } else if (name != "note") {  // a note only makes two bodies differ
    throw std::invalid_argument("unknown member");
  }
}

}  // namespace

step parse_step(std::string_view text) {
  step one;
  try {
    const json::value whole = json::parse({text.data(), text.size()});
    for (const auto& [name, to] : whole.as_object()) {
      apply(one, {name.data(), name.size()}, to);
    }
  } catch (const std::exception& problem) {
    throw std::invalid_argument(std::string{"not a step: "} + problem.what());
  }
  return one;
}

}  // namespace conform
