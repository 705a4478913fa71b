#pragma once

// The stores of this tree as subjects of the exam.

#include <atomic>
#include <filesystem>

#include <callonce/stores/memory/store.hpp>
#include <callonce/stores/postgres/store.hpp>
#include <callonce/stores/sqlite/store.hpp>
#include <callonce/testkit/store_exam.hpp>

namespace callonce::exam {

/// A folder that goes with its object.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Clocks that stand until they are moved.
struct standing_clocks {
  std::atomic<std::chrono::milliseconds::rep> lease{1'000'000};
  std::atomic<std::chrono::milliseconds::rep> wall{1'700'000'000'000};

  moment now() const;
  void advance(std::chrono::milliseconds lease_by, std::chrono::milliseconds wall_by);
  sqlite::clocks for_sqlite(std::string boot_id = "one boot") const;
};

testkit::exam_factory memory_subjects();
testkit::exam_factory sqlite_subjects();
/// With so many hash partitions; 0: a single table.
testkit::exam_factory postgres_subjects(
    unsigned partitions, postgres::statement_form form = postgres::statement_form::batches);

}  // namespace callonce::exam
