#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <callonce/adapters/beast/body_collector.hpp>

namespace callonce::beast::detail {
namespace {

// Bytes in memory with their share of the budget.
struct held_body {
  held_body(std::string from, std::shared_ptr<body_budget> of)
      : bytes(std::move(from)), budget(std::move(of)) {}
  ~held_body() { budget->give_back(bytes.size()); }
  held_body(const held_body&) = delete;
  held_body& operator=(const held_body&) = delete;

  std::string bytes;
  std::shared_ptr<body_budget> budget;
};

}  // namespace

bool body_budget::take(std::uint64_t bytes) noexcept {
  std::uint64_t left = left_;
  do {
    if (bytes > left) return false;
  } while (!left_.compare_exchange_weak(left, left - bytes));
  return true;
}

spool::~spool() {
  if (is_open()) ::close(file_);
}

bool spool::open(const std::string& directory) {
  file_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (is_open()) return true;
  // Not every file system knows files without a name.
  std::string name = directory + "/callonce-body-XXXXXX";
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (is_open()) ::unlink(name.c_str());
  return is_open();
}

bool spool::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::size_t>(written);
  }
  return true;
}

std::optional<body_bytes> spool::map() const {
  const std::size_t size = size_;
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_, 0);
  if (address == MAP_FAILED) return std::nullopt;
  std::shared_ptr<const void> owner{address, [size](void* mapped) { ::munmap(mapped, size); }};
  return body_bytes{std::move(owner), {static_cast<const std::byte*>(address), size}};
}

bool body_collector::append(std::string_view bytes) {
  size_ += bytes.size();
  if (size_ > memory_max_ && !spool_.is_open() && !move_to_spool()) return false;
  if (spool_.is_open()) return spool_.write(bytes);
  if (!budget_->take(bytes.size())) return false;
  held_.append(bytes);
  return true;
}

bool body_collector::move_to_spool() {
  if (!spool_.open(directory_) || !spool_.write(held_)) return false;
  budget_->give_back(held_.size());
  held_ = {};
  return true;
}

std::optional<body_bytes> body_collector::finish() {
  if (spool_.is_open()) return spool_.map();
  const auto owner = std::make_shared<const held_body>(std::move(held_), budget_);
  held_.clear();
  return body_bytes{owner, std::as_bytes(std::span{owner->bytes})};
}

}  // namespace callonce::beast::detail
