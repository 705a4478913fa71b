#include "subjects.hpp"

namespace callonce::exam {
namespace {

const bool registered = [] {
  testkit::register_store_exam("memory", memory_subjects(), memory_subjects());
  testkit::register_store_exam("sqlite", sqlite_subjects(), memory_subjects());
  return true;
}();

}  // namespace
}  // namespace callonce::exam
