#pragma once

#include <span>

#include <conform/trial.hpp>

namespace conform {

/// Whether a row may run beside others; one that measures time or loads the machine may not.
enum class company { any, alone };

/// One statement about the gateway: an id, a sentence, and the steps that show it.
struct row {
  const char* id;  ///< its own, then those of the cases that it shows too
  const char* sentence;
  void (*run)(trial&);  ///< null where the row is not run, and `skip` says why
  company with = company::any;
  const char* skip = nullptr;
};

constexpr row skipped_row(const char* id, const char* sentence, const char* reason) {
  return {id, sentence, nullptr, company::any, reason};
}

std::span<const row> header_syntax_rows();
std::span<const row> replay_rows();
std::span<const row> concurrency_rows();
std::span<const row> freezing_rows();
std::span<const row> lease_rows();
std::span<const row> method_rows();
std::span<const row> fingerprint_rows();
std::span<const row> scope_rows();
std::span<const row> retention_rows();
std::span<const row> plumbing_rows();
std::span<const row> profile_rows();
std::span<const row> payload_case_rows();
std::span<const row> encoding_case_rows();
std::span<const row> record_case_rows();
std::span<const row> edge_case_rows();
std::span<const row> operator_case_rows();

}  // namespace conform
