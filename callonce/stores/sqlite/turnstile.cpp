#include <algorithm>

#include <sys/file.h>

#include <callonce/stores/group_commit/pause.hpp>
#include <callonce/stores/sqlite/turnstile.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;

// Longer than any honest turn, shorter than any caller's patience.
constexpr std::chrono::milliseconds patience = 500ms;
// The one in front hands over within a commit's length; a stuck one is asked rarely.
constexpr std::chrono::microseconds first_pause = 30us;
constexpr std::chrono::microseconds longest_pause = 1ms;

std::filesystem::path beside(const std::filesystem::path& database, const char* suffix) {
  std::filesystem::path made = database;
  made += suffix;
  return made;
}

}  // namespace

turnstile::turnstile(const std::filesystem::path& database, environment& in)
    : environment_(in),
      queue_(open_or_make(beside(database, "-queue"))),
      run_(open_or_make(beside(database, "-run"))) {}

// Asked again and again rather than waited for: a wait in the kernel has no deadline, and one
// stopped process would hold up everybody for ever.
bool turnstile::wait_for(const descriptor& file, steady_time deadline) const {
  auto next = first_pause;
  while (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (environment_.now() >= deadline) return false;
    group_commit::pause(next);
    next = std::min(2 * next, longest_pause);
  }
  return true;
}

void turnstile::enter() {
  const steady_time deadline = environment_.now() + patience;
  if (!wait_for(queue_, deadline)) return;
  wait_for(run_, deadline);
  flock(queue_.number(), LOCK_UN);
}

void turnstile::leave() {
  flock(run_.number(), LOCK_UN);
}

}  // namespace callonce::sqlite::detail
