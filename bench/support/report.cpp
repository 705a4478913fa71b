#include "bench/support/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

std::string number(double value) {
  char text[32];
  const bool whole = std::fabs(value - std::round(value)) < 1e-9;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.3f", value);
  return text;
}

}  // namespace

void report::print() const {
  for (const auto& [key, value] : figures_) {
    std::printf("%-36s %12s\n", key.c_str(), number(value).c_str());
  }
}

void report::write_json(const std::string& path) const {
  std::ofstream out{path};
  out << "{\n";
  for (std::size_t at = 0; at < figures_.size(); ++at) {
    out << "  \"" << figures_[at].first << "\": " << number(figures_[at].second)
        << (at + 1 < figures_.size() ? ",\n" : "\n");
  }
  out << "}\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

double resident_mib(int pid) {
  std::ifstream in{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

}  // namespace bench
