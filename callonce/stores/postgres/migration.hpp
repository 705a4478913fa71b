#pragma once

// Internal: one step of the schema, embedded from migrations/NUMBER_name.sql.

#include <span>

namespace callonce::postgres::detail {

/// A numbered step.
struct migration {
  int number;
  const char* name;
  const char* sql;
};

/// In the order of their numbers, without a gap.
std::span<const migration> known_migrations();

}  // namespace callonce::postgres::detail
