#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Figures by key, in the order they were added: printed as a table and kept as JSON.
class report {
 public:
  void add(std::string key, double value) { figures_.emplace_back(std::move(key), value); }
  void print() const;
  /// Errors: throws std::runtime_error when `path` cannot be written.
  void write_json(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, double>> figures_;
};

double median(std::vector<double> values);
/// The value below which `share` (0 to 1) of all values lie.
double quantile(std::vector<double> values, double share);

/// Resident memory of a process. Units: MiB.
double resident_mib(int pid);

}  // namespace bench
