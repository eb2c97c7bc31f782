#pragma once
// Tells on what kind of file system a file is: local, shared by many machines, or in memory. Blocks
// as long as the file system does.

#include <cstdint>
#include <string>

namespace robustrun::bootstrap {

enum class FileSystem : std::uint8_t {
  kLocal,  // a disk of this machine, or an unknown kind
  kShared,  // on a network, FUSE, or squashfs, whose image may be on a network
  kMemory,  // tmpfs, proc, sysfs …: nothing to read ahead
  kMissing,  // no such file, or not accessible
};

// By statfs(2) and the magic numbers of linux/magic.h; those of Lustre, GPFS and BeeGFS, which the
// kernel's headers lack, are taken from coreutils' stat.
[[nodiscard]] FileSystem file_system_of(const std::string& path);

}  // namespace robustrun::bootstrap
