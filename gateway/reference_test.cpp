#include <fstream>
#include <sstream>

#include <gateway/reference.hpp>
#include <gateway/setting.hpp>
#include <gtest/gtest.h>

#include <callonce/core/problem.hpp>

namespace callonce::gateway {
namespace {

TEST(reference, the_committed_page_is_current) {
  std::ifstream file(CALLONCE_SOURCE_DIR "/docs/reference/config.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), reference_page())
      << "run: callonce check --reference > docs/reference/config.md";
}

TEST(reference, the_page_of_errors_has_every_code_with_its_status) {
  std::ifstream file(CALLONCE_SOURCE_DIR "/docs/reference/errors.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (int i = 0; i <= static_cast<int>(problem_code::internal_error); ++i) {
    const auto code = static_cast<problem_code>(i);
    const std::string row = "| " + std::to_string(default_status(code)) + " | `" +
                            std::string{to_string(code)} + "` | " +
                            (is_retryable(code) ? "yes" : "no") + " |";
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

// What a default is shown as can be written back and means the same.
TEST(reference, every_default_is_taken_as_it_is_shown) {
  for (const setting& each : all_settings()) {
    const std::string shown = default_text(each);
    if (shown.empty() || shown == "\"\"") continue;
    const std::string section = each.section.empty() ? "" : "[" + std::string{each.section} + "]\n";
    const document read = read_document(section + std::string{each.key} + " = " + shown + "\n");
    ASSERT_TRUE(read.mistakes.empty()) << each.full_name() << " = " << shown;
    ASSERT_EQ(read.assignments.size(), 1U) << each.full_name();
    configuration whole;
    const place at{whole, whole.defaults};
    EXPECT_EQ(each.set(at, read.assignments[0].value), "") << each.full_name();
    EXPECT_EQ(each.show(at), shown) << each.full_name();
  }
}

TEST(reference, every_setting_explains_itself_in_one_line) {
  for (const setting& each : all_settings()) {
    EXPECT_FALSE(each.help.empty()) << each.full_name();
    EXPECT_LE(each.help.size(), 90U) << each.full_name();
    EXPECT_NE(settings_help().find(each.full_name()), std::string::npos);
  }
}

}  // namespace
}  // namespace callonce::gateway
