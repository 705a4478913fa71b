#include "subjects.hpp"

namespace callonce::exam {
namespace {

const bool registered = [] {
  testkit::register_store_exam("postgres", postgres_subjects(0), memory_subjects());
  testkit::register_store_exam("postgres_partitioned", postgres_subjects(4), memory_subjects());
  testkit::register_store_exam(
      "postgres_rows", postgres_subjects(0, postgres::statement_form::rows), memory_subjects());
  return true;
}();

}  // namespace
}  // namespace callonce::exam
