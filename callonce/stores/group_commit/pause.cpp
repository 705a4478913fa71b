#include <thread>

#include <callonce/stores/group_commit/pause.hpp>

namespace callonce::group_commit {

void pause(std::chrono::microseconds how_long) {
  std::this_thread::sleep_for(how_long);
}

}  // namespace callonce::group_commit
