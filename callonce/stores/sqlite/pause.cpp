#include <thread>

#include <callonce/stores/sqlite/pause.hpp>

namespace callonce::sqlite::detail {

void pause(std::chrono::microseconds how_long) {
  std::this_thread::sleep_for(how_long);
}

}  // namespace callonce::sqlite::detail
