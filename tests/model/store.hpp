#pragma once

#include <unordered_map>

#include "tests/model/model.hpp"

namespace callonce::model {

/// The record of a model world, put under the real rules: a real record is made of the row, the
/// rules are asked, and what they say is written down. All terms are a few units long: a lease
/// lasts one, a released record and a body one, a completed key two. The rules are pure, so each
/// question is asked once.
class store {
 public:
  explicit store(const rules& by) : by_(by) {}

  /// Does what `question` asks to `found`, and says what the rules said.
  act apply(row& found, const act& question);

 private:
  struct state {
    row found;
    act did;
  };

  void ask_claim(state& now) const;
  void ask_write(state& now) const;
  void ask_settle(state& now) const;
  void ask_purge(state& now) const;

  const rules& by_;
  std::unordered_map<state, state, hash_of_bytes, same_bytes> known_;
};

}  // namespace callonce::model
