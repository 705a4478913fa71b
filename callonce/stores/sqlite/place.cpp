#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <callonce/stores/sqlite/misconfigured.hpp>
#include <callonce/stores/sqlite/place.hpp>

namespace callonce::sqlite::detail {
namespace {

struct known_magic {
  long magic;
  std::string_view name;
};

// From linux/magic.h and statfs(2). A file system in user space may be local, but its memory maps
// and advisory locks are as its author pleased, and the write-ahead log needs both.
constexpr std::array refused_magics{known_magic{0x6969, "NFS"},
                                    known_magic{0x517B, "SMB"},
                                    known_magic{0xFF534D42, "CIFS"},
                                    known_magic{0xFE534D42, "SMB"},
                                    known_magic{0x65735546, "FUSE"},
                                    known_magic{0x01021997, "9P"},
                                    known_magic{0x00C36400, "Ceph"},
                                    known_magic{0x5346414F, "AFS"},
                                    known_magic{0x6B414653, "AFS"},
                                    known_magic{0x73757245, "Coda"},
                                    known_magic{0x564C, "NCP"},
                                    known_magic{0x0BD00BD0, "Lustre"},
                                    known_magic{0x01161970, "GFS2"},
                                    known_magic{0x7461636F, "OCFS2"},
                                    known_magic{0x786F4256, "VirtualBox shared folder"}};

std::string reason() {
  return std::generic_category().message(errno);
}

void refuse_network(const std::filesystem::path& file, int number) {
  struct statfs found {};
  if (fstatfs(number, &found) != 0) return;
  const std::string_view name = network_file_system(static_cast<long>(found.f_type));
  if (name.empty()) return;
  throw misconfigured{file.string() + " lies on a network file system (" + std::string{name} +
                      "), where SQLite's write-ahead log is not safe: put it on a local disk"};
}

// The entry of a new file in its folder is durable only after this.
void sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const descriptor opened{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.number() >= 0) fsync(opened.number());
}

}  // namespace

std::string_view network_file_system(long magic) noexcept {
  for (const known_magic& each : refused_magics) {
    if (static_cast<std::uint32_t>(each.magic) == static_cast<std::uint32_t>(magic)) {
      return each.name;
    }
  }
  return {};
}

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

descriptor open_or_make(const std::filesystem::path& file) {
  descriptor opened{open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (opened.number() < 0) {
    throw misconfigured{file.string() + " cannot be opened for writing: " + reason()};
  }
  return opened;
}

std::filesystem::path prepare_file(const std::filesystem::path& file) {
  const descriptor opened = open_or_make(file);
  refuse_network(file, opened.number());
  sync_folder_of(file);
  return std::filesystem::canonical(file);
}

}  // namespace callonce::sqlite::detail
