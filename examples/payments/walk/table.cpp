#include <cstdio>
#include <cstdlib>

#include <examples/payments/walk/table.hpp>
#include <unistd.h>

namespace walk {
namespace {

constexpr int what_width = 40;
constexpr int sent_width = 23;
constexpr int answer_width = 36;
constexpr auto green = "32";
constexpr auto red = "1;31";
constexpr auto bold = "1";
constexpr auto dim = "2";

/// All cells are ASCII, so bytes are columns.
void print_cells(const std::string& what, const std::string& sent, const std::string& answer) {
  std::printf("%-*s  %-*s  %-*s", what_width, what.c_str(), sent_width, sent.c_str(), answer_width,
              answer.c_str());
}

}  // namespace

table::table()
    : terminal_(::isatty(STDOUT_FILENO) != 0),
      colours_(terminal_ && std::getenv("NO_COLOR") == nullptr) {
  print_cells("  What happens", "What is sent", "What comes back");
  std::printf("  %-9s\n  %s\n", "Ledger",
              std::string(what_width + sent_width + answer_width + 22, '-').c_str());
  std::fflush(stdout);
}

std::string table::painted(const char* colour, const std::string& text) const {
  return colours_ ? std::string("\x1b[") + colour + "m" + text + "\x1b[0m" : text;
}

void table::chapter(const std::string& title) {
  std::printf("\n%s\n", painted(bold, title).c_str());
  std::fflush(stdout);
}

void table::begin(const std::string& what, const std::string& sent) {
  what_ = "  " + what;
  sent_ = sent;
  progress("...");
}

void table::progress(const std::string& text) {
  if (!terminal_) return;
  // Short enough for a narrow terminal: a line that wraps could not be taken back.
  std::printf("\r\x1b[K%-*s  %s", what_width, what_.c_str(), painted(dim, text).c_str());
  std::fflush(stdout);
}

bool table::end(const finding& finding, std::int64_t before, std::int64_t after,
                std::int64_t wanted) {
  const bool right = finding.right && after == wanted;
  if (terminal_) std::printf("\r\x1b[K");
  print_cells(what_, sent_, finding.answer);
  const auto count = std::to_string(before) + " -> " + std::to_string(after);
  std::printf("  %-9s  %s\n", count.c_str(),
              right ? painted(green, "ok").c_str() : painted(red, "WRONG").c_str());
  if (!finding.right) note("wanted: " + finding.wanted);
  if (after != wanted) note("wanted: " + std::to_string(wanted) + " in the ledger");
  std::fflush(stdout);
  ++rows_;
  if (!right) ++wrong_;
  return right;
}

void table::note(const std::string& text) {
  std::printf("    %s\n", painted(dim, text).c_str());
  std::fflush(stdout);
}

}  // namespace walk
