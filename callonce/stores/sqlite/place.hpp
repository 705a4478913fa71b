#pragma once

// Internal: where a database file may lie.

#include <filesystem>
#include <string>
#include <string_view>

namespace callonce::sqlite::detail {

/// The name of a file system on which the write-ahead log does not work, for its `statfs` magic;
/// empty when it does.
std::string_view network_file_system(long magic) noexcept;

/// Makes sure that the file exists and can be written where it lies; a new file is readable by its
/// owner only, for it holds what customers were answered.
/// Post: the file's one true path, equal for all names of it.
/// Errors: throws misconfigured.
std::filesystem::path prepare_file(const std::filesystem::path& file);

/// A descriptor that closes itself.
class descriptor {
 public:
  explicit descriptor(int number = -1) noexcept : number_(number) {}
  ~descriptor();
  descriptor(descriptor&& from) noexcept : number_(from.number_) { from.number_ = -1; }
  descriptor& operator=(descriptor&&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Opens for reading and writing, making the file if need be. Errors: throws misconfigured.
descriptor open_or_make(const std::filesystem::path& file);

}  // namespace callonce::sqlite::detail
