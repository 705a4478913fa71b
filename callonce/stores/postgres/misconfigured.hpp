#pragma once

#include <stdexcept>

namespace callonce::postgres {

/// A server that cannot be used safely as it is, or not at all: one sentence that says what to
/// change.
class misconfigured : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace callonce::postgres
