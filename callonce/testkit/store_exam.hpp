#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <callonce/engine/store.hpp>

namespace callonce::testkit {

/// One set of records under examination, with the doors that the exam needs. Each test gets a
/// fresh, empty one.
class exam_subject {
 public:
  exam_subject() = default;
  exam_subject(const exam_subject&) = delete;
  exam_subject& operator=(const exam_subject&) = delete;
  virtual ~exam_subject() = default;

  /// A connection to the records. Post: valid until `restart`.
  virtual callonce::store& first() = 0;
  /// Another connection to the same records, as another process would have it; where there is none,
  /// the first.
  virtual callonce::store& second() { return first(); }
  /// Moves the store's clocks. They stand still between two calls, so that the exam can be exact.
  virtual void advance(std::chrono::milliseconds lease, std::chrono::milliseconds wall) = 0;
  /// Closes the connections and opens new ones. What is durable is still there.
  virtual void restart() {}
};

using exam_factory = std::function<std::unique_ptr<exam_subject>()>;

/// Registers the exam of a store as GoogleTest tests of the suite `name`: each row of the record's
/// rules, fences, races, repetitions, bytes, pages, purging, and random sequences of calls.
/// `oracle` makes the store whose answers to the random sequences are right: callonce::memory.
/// Pre: called before RUN_ALL_TESTS, for example by the initializer of a global variable.
void register_store_exam(const std::string& name, const exam_factory& subject,
                         const exam_factory& oracle);

}  // namespace callonce::testkit
