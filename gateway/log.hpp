#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <gateway/config.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// One named value of a log line; an empty text and an absent number leave no trace in it.
struct log_field {
  log_field(std::string_view called, std::string_view text) : name(called), value(text) {}
  log_field(std::string_view called, const char* text)
      : name(called), value(std::string_view{text}) {}
  log_field(std::string_view called, const std::string& text)
      : name(called), value(std::string_view{text}) {}
  log_field(std::string_view called, std::uint64_t number) : name(called), value(number) {}
  log_field(std::string_view called, int number)
      : name(called), value(static_cast<std::uint64_t>(number < 0 ? 0 : number)) {}
  log_field(std::string_view called, double number) : name(called), value(number) {}
  log_field(std::string_view called, std::optional<std::uint64_t> number) : name(called) {
    if (number) value = *number;
  }

  std::string_view name;
  std::variant<std::string_view, std::uint64_t, double> value;

  bool empty() const noexcept {
    const auto* text = std::get_if<std::string_view>(&value);
    return text != nullptr && text->empty();
  }
};

/// Writes one line for each event, as JSON or as text for people.
/// Whatever a client sent stands escaped in it: printable ASCII only. Keys, scopes and bodies are
/// never given to it; the record's id joins the lines of one key. Source: C61, C112.
/// Threads: any; a line is one write.
class log {
 public:
  /// `descriptor` is written to and stays open.
  log(const log_settings& settings, int descriptor, environment& in = system_environment());
  log(const log&) = delete;
  log& operator=(const log&) = delete;

  bool writes(log_level level) const noexcept { return level >= level_; }
  bool writes_access() const noexcept { return access_ && writes(log_level::info); }

  /// Post: a failed write loses the line and nothing else.
  void write(log_level level, std::string_view event,
             std::initializer_list<log_field> fields) const;
  void debug(std::string_view event, std::initializer_list<log_field> fields) const {
    if (writes(log_level::debug)) write(log_level::debug, event, fields);
  }
  void info(std::string_view event, std::initializer_list<log_field> fields) const {
    if (writes(log_level::info)) write(log_level::info, event, fields);
  }
  void warning(std::string_view event, std::initializer_list<log_field> fields) const {
    if (writes(log_level::warning)) write(log_level::warning, event, fields);
  }
  void error(std::string_view event, std::initializer_list<log_field> fields) const {
    if (writes(log_level::error)) write(log_level::error, event, fields);
  }

 private:
  std::string json(log_level level, std::string_view event,
                   std::initializer_list<log_field> fields) const;
  std::string text(log_level level, std::string_view event,
                   std::initializer_list<log_field> fields) const;

  const log_level level_;
  const bool json_;
  const bool access_;
  const int descriptor_;
  environment& env_;
};

/// An instant as `2026-01-31T08:15:30.123Z`.
std::string to_text(std::chrono::system_clock::time_point at);

}  // namespace callonce::gateway
