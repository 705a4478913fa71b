#pragma once

#include <cstdint>
#include <string>

namespace walk {

/// What one row of the walk has shown.
struct finding {
  bool right = false;
  std::string answer;
  std::string wanted;  // shown when it is not right
};

/// The table on standard output: each row appears as it happens, on a terminal with its progress.
class table {
 public:
  table();

  /// A headline over the rows that follow.
  void chapter(const std::string& title);
  /// A row begins.
  void begin(const std::string& what, const std::string& sent);
  /// What the row waits for; shown on a terminal only.
  void progress(const std::string& text);
  /// The row ends: its answer, and the ledger's count before, after and as it must be.
  /// Returns whether all is right.
  bool end(const finding& finding, std::int64_t before, std::int64_t after, std::int64_t wanted);
  /// A remark under the last row.
  void note(const std::string& text);

  int rows() const { return rows_; }
  int wrong() const { return wrong_; }

 private:
  std::string painted(const char* colour, const std::string& text) const;

  const bool terminal_;
  const bool colours_;
  std::string what_;
  std::string sent_;
  int rows_ = 0;
  int wrong_ = 0;
};

}  // namespace walk
