#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// What a number of connections got.
struct load_result {
  std::vector<double> milliseconds;  ///< One for each answer.
  std::uint64_t answers_201 = 0;
  std::uint64_t replays = 0;
  std::uint64_t refused_409 = 0;
  std::uint64_t others = 0;
};

/// One POST to the gateway with this key and body.
std::string post(const std::string& key, const std::string& body);

/// Opens `connections` connections to 127.0.0.1:`port`, then sends `request` over all of them at
/// once and reads one answer from each. `meanwhile` is called when all requests are on their way.
load_result storm(std::uint16_t port, std::size_t connections, const std::string& request,
                  const std::function<void()>& meanwhile);

/// Sends requests with fresh keys over `connections` connections, one after the other each, until
/// `stop` is true. Pre: `prefix` is not used twice.
load_result flow(std::uint16_t port, std::size_t connections, const std::string& prefix,
                 const std::atomic<bool>& stop);

}  // namespace bench
