#pragma once

#include <stdexcept>

namespace callonce::sqlite {

/// A file that cannot be used safely as it is: one sentence that says what to change.
class misconfigured : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace callonce::sqlite
