#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>
#include <callonce/testkit/store_exam.hpp>

namespace callonce::testkit {
namespace {

class exam_test : public testing::Test {
 public:
  explicit exam_test(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

void add(const std::string& suite, const char* name, const std::function<void()>& body) {
  testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                        [body]() -> testing::Test* { return new exam_test{body}; });
}

}  // namespace

void register_store_exam(const std::string& name, const exam_factory& subject,
                         const exam_factory& oracle) {
  for (const auto* rows : {&exam::claim_rows(), &exam::write_rows(), &exam::settle_rows(),
                           &exam::keeping_rows(), &exam::purge_rows(), &exam::race_rows()}) {
    for (const exam::row& each : *rows) {
      add(name, each.name, [subject, run = each.run] {
        const std::unique_ptr<exam_subject> fresh = subject();
        exam::candidate candidate{*fresh};
        run(candidate);
      });
    }
  }
  add(name, "random_calls_are_answered_as_by_the_oracle",
      [subject, oracle] { exam::compare_random_calls(subject, oracle); });
}

}  // namespace callonce::testkit
