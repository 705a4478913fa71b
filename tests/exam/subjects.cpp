#include "subjects.hpp"

#include <cstdlib>
#include <string>

namespace callonce::exam {
namespace {

class memory_subject final : public testkit::exam_subject {
 public:
  callonce::store& first() override { return store_; }
  void advance(std::chrono::milliseconds lease, std::chrono::milliseconds wall) override {
    clocks_.advance(lease, wall);
  }

 private:
  standing_clocks clocks_;
  memory::store store_{system_environment(), [this] { return clocks_.now(); }};
};

// Two stores over one file, as two processes would have them.
class sqlite_subject final : public testkit::exam_subject {
 public:
  callonce::store& first() override { return *first_; }
  callonce::store& second() override { return *second_; }
  void advance(std::chrono::milliseconds lease, std::chrono::milliseconds wall) override {
    clocks_.advance(lease, wall);
  }
  void restart() override {
    first_.reset();
    second_.reset();
    first_ = open();
    second_ = open();
  }

 private:
  std::unique_ptr<sqlite::store> open() const {
    sqlite::options with;
    with.timeout = std::chrono::seconds{60};  // A slow disk must not fail a race.
    with.clocks = clocks_.for_sqlite();
    return std::make_unique<sqlite::store>(folder_.path() / "exam.db", with);
  }

  temporary_folder folder_;
  standing_clocks clocks_;
  std::unique_ptr<sqlite::store> first_ = open();
  std::unique_ptr<sqlite::store> second_ = open();
};

}  // namespace

temporary_folder::temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "callonce-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

moment standing_clocks::now() const {
  return {instant{std::chrono::milliseconds{lease}}, instant{std::chrono::milliseconds{wall}}};
}

void standing_clocks::advance(std::chrono::milliseconds lease_by,
                              std::chrono::milliseconds wall_by) {
  lease += lease_by.count();
  wall += wall_by.count();
}

sqlite::clocks standing_clocks::for_sqlite(std::string boot_id) const {
  return {[this] { return now().lease; }, [this] { return now().wall; }, std::move(boot_id)};
}

testkit::exam_factory memory_subjects() {
  return [] { return std::make_unique<memory_subject>(); };
}

testkit::exam_factory sqlite_subjects() {
  return [] { return std::make_unique<sqlite_subject>(); };
}

}  // namespace callonce::exam
