#include <array>

#include <gateway/log.hpp>
#include <gateway/telemetry.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace callonce::gateway {
namespace {

// A pipe to read back what a log wrote; small lines never fill it.
class written_lines {
 public:
  written_lines() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~written_lines() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int descriptor() const { return ends_[1]; }
  std::string take() {
    // A mark of our own, so that reading never waits for a line that was not written.
    EXPECT_EQ(::write(ends_[1], "\x04", 1), 1);
    std::string all;
    std::array<char, 4096> piece;
    while (all.empty() || all.back() != '\x04') {
      const auto count = ::read(ends_[0], piece.data(), piece.size());
      if (count <= 0) break;
      all.append(piece.data(), static_cast<std::size_t>(count));
    }
    all.pop_back();
    return all;
  }

 private:
  std::array<int, 2> ends_{};
};

class still_clock final : public environment {
 public:
  steady_time now() const override { return steady_time{steady_}; }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::time_point{std::chrono::milliseconds{1769847330007}};
  }
  void fill_random(std::span<std::byte>) override {}
  std::unique_ptr<alarm> call_at(const asio::any_io_executor&, steady_time,
                                 std::function<void()>) override {
    return nullptr;
  }
  void pass(std::chrono::seconds time) { steady_ += time; }

 private:
  std::chrono::seconds steady_{1000};
};

log_settings settings(log_level level, bool json = true) {
  log_settings made;
  made.level = level;
  made.json = json;
  return made;
}

TEST(log, json_lines_have_time_level_event_and_fields) {
  still_clock clock;
  written_lines lines;
  const log to{settings(log_level::info), lines.descriptor(), clock};
  to.info("started", {{"listen", "127.0.0.1:80"}, {"routes", 3}, {"ms", 1.5}});
  EXPECT_EQ(lines.take(),
            "{\"time\":\"2026-01-31T08:15:30.007Z\",\"level\":\"info\",\"event\":\"started\","
            "\"listen\":\"127.0.0.1:80\",\"routes\":3,\"ms\":1.500}\n");
}

TEST(log, text_lines_are_aligned_and_quote_what_is_not_plain) {
  still_clock clock;
  written_lines lines;
  const log to{settings(log_level::info, /*json=*/false), lines.descriptor(), clock};
  to.warning("kept", {{"route", "/v1/charges"}, {"why", "cut off"}, {"empty", ""}});
  EXPECT_EQ(lines.take(),
            "2026-01-31T08:15:30.007Z warning kept route=/v1/charges why=\"cut off\"\n");
}

TEST(log, what_is_below_its_level_is_not_written) {
  written_lines lines;
  const log to{settings(log_level::warning), lines.descriptor()};
  to.info("quiet", {});
  to.error("loud", {});
  const std::string all = lines.take();
  EXPECT_EQ(all.find("quiet"), std::string::npos);
  EXPECT_NE(all.find("loud"), std::string::npos);
  EXPECT_FALSE(to.writes_access());
  const log off{settings(log_level::off), lines.descriptor()};
  off.error("silent", {});
  EXPECT_EQ(lines.take(), "");
}

// C61: terminal escapes, line ends and bytes beyond ASCII.
TEST(log, no_control_byte_of_a_client_reaches_a_line) {
  std::string hostile;
  for (int byte = 0; byte < 256; ++byte) hostile += static_cast<char>(byte);
  for (const bool json : {true, false}) {
    written_lines lines;
    const log to{settings(log_level::info, json), lines.descriptor()};
    to.info("request", {{"path", hostile}});
    const std::string line = lines.take();
    ASSERT_EQ(line.back(), '\n');
    for (const char c : line.substr(0, line.size() - 1)) {
      EXPECT_TRUE(c >= 0x20 && c <= 0x7e) << static_cast<int>(c);
    }
  }
}

TEST(log, a_descriptor_that_takes_nothing_loses_lines_only) {
  const log to{settings(log_level::info), -1};
  to.error("lost", {});
}

struct told {
  still_clock clock;
  written_lines lines;
  log to;
  metrics counts{{"/v1/charges"}, "0", [] { return live_numbers{}; }};
  telemetry observer{to, counts, clock};

  explicit told(log_level level) : to(settings(level), lines.descriptor(), clock) {}
  std::string on(fact_kind kind, problem_code code = problem_code::internal_error,
                 claim_kind claim = claim_kind::first) {
    const identity id{scope_from_header("X-Api-Key").hash("tenant-secret"),
                      key{"jane@example.test"}};
    fact what{kind, "/v1/charges", &id};
    what.code = code;
    what.claim = claim;
    observer.on(what);
    return lines.take();
  }
};

// C112: one digest in every line of a key, and never the key.
TEST(telemetry, lines_carry_the_records_id_and_never_the_key) {
  told all{log_level::debug};
  const std::string record = identity{
      scope_from_header("X-Api-Key").hash("tenant-secret"),
      key{"jane@example.test"}}.record_id();
  for (int kind = 0; kind <= static_cast<int>(fact_kind::wall_jumped); ++kind) {
    const std::string line = all.on(static_cast<fact_kind>(kind));
    EXPECT_NE(line.find(record), std::string::npos) << line;
    EXPECT_EQ(line.find("jane"), std::string::npos) << line;
    EXPECT_EQ(line.find("tenant-secret"), std::string::npos) << line;
  }
}

// C110: a duplicate is normal operation.
TEST(telemetry, a_refused_duplicate_is_no_error) {
  told info{log_level::info};
  for (const auto code : {problem_code::key_reused, problem_code::in_progress,
                          problem_code::key_missing, problem_code::key_invalid}) {
    EXPECT_EQ(info.on(fact_kind::refused, code), "");
  }
  EXPECT_EQ(info.on(fact_kind::replayed), "");
}

TEST(telemetry, a_takeover_is_worth_a_line_and_a_first_claim_is_not) {
  told info{log_level::info};
  EXPECT_EQ(info.on(fact_kind::claimed), "");
  EXPECT_NE(info.on(fact_kind::claimed, {}, claim_kind::takeover).find("takeover"),
            std::string::npos);
}

TEST(telemetry, an_unusable_scope_rule_is_one_error_line_that_names_the_remedy) {
  told info{log_level::info};
  const std::string line = info.on(fact_kind::refused, problem_code::scope_unusable);
  EXPECT_NE(line.find("\"error\""), std::string::npos);
  EXPECT_NE(line.find("jwt:"), std::string::npos);
  EXPECT_EQ(info.on(fact_kind::refused, problem_code::scope_unusable), "");
}

TEST(telemetry, a_flood_is_one_line_in_ten_seconds_that_counts_the_others) {
  told info{log_level::info};
  EXPECT_NE(info.on(fact_kind::store_failed).find("store_failed"), std::string::npos);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(info.on(fact_kind::store_failed), "");
  info.clock.pass(std::chrono::seconds{11});
  EXPECT_NE(info.on(fact_kind::store_failed).find("\"left_out\":5"), std::string::npos);
}

}  // namespace
}  // namespace callonce::gateway
