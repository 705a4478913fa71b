#pragma once

#include <vector>

#include <gateway/config.hpp>
#include <gateway/document.hpp>

namespace callonce::gateway {

/// What is impossible, and what is only unwise.
struct judgement_of_rules {
  std::vector<mistake> mistakes;
  std::vector<mistake> warnings;
};

/// Judges settings together that are right one by one.
/// Whether any scope asks for a claim of a token.
bool wants_tokens(const configuration& of);

judgement_of_rules judge_rules(const configuration& of);

}  // namespace callonce::gateway
