#include <cstdlib>
#include <iostream>

#include <examples/payments/walk/table.hpp>
#include <unistd.h>

namespace walk {
namespace {

constexpr std::size_t what_width = 40;
constexpr std::size_t sent_width = 23;
constexpr std::size_t answer_width = 37;
constexpr std::size_t ledger_width = 9;
constexpr auto green = "32";
constexpr auto red = "1;31";
constexpr auto bold = "1";
constexpr auto dim = "2";
constexpr auto clear_line = "\r\x1b[K";

/// The text and blanks up to `width`. All cells are ASCII, so bytes are columns.
std::string cell(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ') + "  ";
}

std::string cells(const std::string& what, const std::string& sent, const std::string& answer) {
  return cell(what, what_width) + cell(sent, sent_width) + cell(answer, answer_width);
}

}  // namespace

table::table()
    : terminal_(::isatty(STDOUT_FILENO) != 0),
      colours_(terminal_ && std::getenv("NO_COLOR") == nullptr) {
  std::cout << cells("  What happens", "What is sent", "What comes back") << "Ledger\n  "
            << std::string(what_width + sent_width + answer_width + ledger_width + 11, '-')
            << std::endl;
}

std::string table::painted(const char* colour, const std::string& text) const {
  return colours_ ? std::string("\x1b[") + colour + "m" + text + "\x1b[0m" : text;
}

void table::chapter(const std::string& title) {
  std::cout << "\n" << painted(bold, title) << std::endl;
}

void table::begin(const std::string& what, const std::string& sent) {
  what_ = "  " + what;
  sent_ = sent;
  progress("...");
}

void table::progress(const std::string& text) {
  if (!terminal_) return;
  // Short enough for a narrow terminal: a line that wraps could not be taken back.
  std::cout << clear_line << cell(what_, what_width) << painted(dim, text) << std::flush;
}

bool table::end(const finding& finding, std::int64_t before, std::int64_t after,
                std::int64_t wanted) {
  const bool right = finding.right && after == wanted;
  const auto count = std::to_string(before) + " -> " + std::to_string(after);
  std::cout << (terminal_ ? clear_line : "") << cells(what_, sent_, finding.answer)
            << cell(count, ledger_width) << (right ? painted(green, "ok") : painted(red, "WRONG"))
            << std::endl;
  if (!finding.right) note("wanted: " + finding.wanted);
  if (after != wanted) note("wanted: " + std::to_string(wanted) + " in the ledger");
  ++rows_;
  if (!right) ++wrong_;
  return right;
}

void table::note(const std::string& text) {
  std::cout << "    " << painted(dim, text) << std::endl;
}

}  // namespace walk
