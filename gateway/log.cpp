#include <array>
#include <cstdio>
#include <ctime>

#include <gateway/log.hpp>
#include <unistd.h>

namespace callonce::gateway {
namespace {

constexpr std::array<std::string_view, 5> level_names{"debug", "info", "warning", "error", "off"};

std::string_view name_of(log_level level) {
  return level_names[static_cast<std::size_t>(level)];
}

// JSON is UTF-8, what a client sends is any bytes: all but printable ASCII is escaped, so that no
// byte can move a terminal's cursor or begin a line of its own.
void append_quoted(std::string& to, std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  to += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to.append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte > 0x7e) {
      to.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    } else {
      to += c;
    }
  }
  to += '"';
}

bool is_plain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    if (c <= 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '=') return false;
  }
  return true;
}

void append_number(std::string& to, double number) {
  std::array<char, 32> digits;
  const int length = std::snprintf(digits.data(), digits.size(), "%.3f", number);
  to.append(digits.data(), static_cast<std::size_t>(length));
}

void append_value(std::string& to, const log_field& field, bool always_quoted) {
  if (const auto* words = std::get_if<std::string_view>(&field.value)) {
    if (!always_quoted && is_plain(*words)) {
      to += *words;
    } else {
      append_quoted(to, *words);
    }
  } else if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
    to += std::to_string(*number);
  } else {
    append_number(to, std::get<double>(field.value));
  }
}

}  // namespace

std::string to_text(std::chrono::system_clock::time_point at) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(at);
  const auto rest = duration_cast<milliseconds>(at - whole).count();
  const std::time_t seconds_since_epoch = system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds_since_epoch, &parts);
  std::array<char, 40> made;
  std::size_t length = std::strftime(made.data(), made.size(), "%FT%T", &parts);
  length += static_cast<std::size_t>(
      std::snprintf(made.data() + length, made.size() - length, ".%03dZ", static_cast<int>(rest)));
  return {made.data(), length};
}

log::log(const log_settings& settings, int descriptor, environment& in)
    : level_(settings.level),
      json_(settings.json),
      access_(settings.access),
      descriptor_(descriptor),
      env_(in) {}

void log::write(log_level level, std::string_view event,
                std::initializer_list<log_field> fields) const {
  if (!writes(level)) return;
  const std::string line = json_ ? json(level, event, fields) : text(level, event, fields);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  static_cast<void>(written);
}

std::string log::json(log_level level, std::string_view event,
                      std::initializer_list<log_field> fields) const {
  std::string line = "{\"time\":\"" + to_text(env_.wall()) + "\",\"level\":\"";
  line.append(name_of(level)).append("\",\"event\":\"").append(event).append("\"");
  for (const log_field& each : fields) {
    if (each.empty()) continue;
    line.append(",\"").append(each.name).append("\":");
    append_value(line, each, /*always_quoted=*/true);
  }
  return line.append("}\n");
}

std::string log::text(log_level level, std::string_view event,
                      std::initializer_list<log_field> fields) const {
  std::string line = to_text(env_.wall()) + ' ';
  line.append(name_of(level)).resize(line.size() + 8 - name_of(level).size(), ' ');
  line.append(event);
  for (const log_field& each : fields) {
    if (each.empty()) continue;
    line.append(" ").append(each.name).append("=");
    append_value(line, each, /*always_quoted=*/false);
  }
  return line.append("\n");
}

}  // namespace callonce::gateway
