#include <ctime>
#include <fstream>

#include <callonce/stores/sqlite/clocks.hpp>

namespace callonce::sqlite {
namespace {

instant read_boot_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto since_boot = std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  return instant{std::chrono::floor<store_clock::duration>(since_boot)};
}

std::string read_boot_id() {
  std::ifstream from{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(from, id);
  return id;
}

}  // namespace

clocks host_clocks(environment& in) {
  const auto wall = [&in] {
    return instant{std::chrono::floor<store_clock::duration>(in.wall().time_since_epoch())};
  };
  return {read_boot_clock, wall, read_boot_id()};
}

}  // namespace callonce::sqlite
