#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callonce/core/message.hpp>

namespace callonce::beast::detail {

/// Whole bodies in memory, all connections together.
/// Threads: any.
class body_budget {
 public:
  explicit body_budget(std::uint64_t bytes_max) : left_(bytes_max) {}
  /// Errors: false when there is no room for so many more bytes.
  bool take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept { left_ += bytes; }

 private:
  std::atomic<std::uint64_t> left_;
};

/// A file without a name, for a body that is too large to be held in memory.
class spool {
 public:
  spool() = default;
  ~spool();
  spool(const spool&) = delete;
  spool& operator=(const spool&) = delete;

  /// Errors: false when `directory` cannot take it.
  bool open(const std::string& directory);
  bool write(std::string_view bytes);
  /// Maps what was written, read-only. Errors: nothing when it cannot be mapped.
  std::optional<body_bytes> map() const;
  bool is_open() const noexcept { return file_ >= 0; }

 private:
  int file_ = -1;
  std::size_t size_ = 0;
};

/// Gathers one body: in memory within a budget, beyond `memory_max` in a spool.
class body_collector {
 public:
  body_collector(std::shared_ptr<body_budget> budget, std::uint64_t memory_max,
                 const std::string& directory)
      : budget_(std::move(budget)), memory_max_(memory_max), directory_(directory) {}
  ~body_collector() { budget_->give_back(held_.size()); }
  body_collector(const body_collector&) = delete;
  body_collector& operator=(const body_collector&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  /// Errors: false when neither memory nor disk has room for it.
  bool append(std::string_view bytes);
  /// Post: the collector is empty; the bytes keep their share of the budget.
  /// Errors: nothing when a spooled body cannot be mapped.
  std::optional<body_bytes> finish();

 private:
  bool move_to_spool();

  std::shared_ptr<body_budget> budget_;
  std::uint64_t memory_max_;
  const std::string& directory_;
  std::string held_;
  spool spool_;
  std::uint64_t size_ = 0;
};

}  // namespace callonce::beast::detail
