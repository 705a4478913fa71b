#pragma once

#include <functional>
#include <string>

#include <callonce/core/record.hpp>
#include <callonce/engine/environment.hpp>

namespace callonce::sqlite {

/// The clocks a file's records are judged by.
struct clocks {
  /// Judges leases: counts since boot, also while the host sleeps; nobody can set it.
  std::function<instant()> lease;
  /// Judges retention only.
  std::function<instant()> wall;
  /// Names the boot that `lease` counts from.
  std::string boot_id;
};

/// CLOCK_BOOTTIME, the kernel's boot id, and the wall clock of `in`.
clocks host_clocks(environment& in);

}  // namespace callonce::sqlite
