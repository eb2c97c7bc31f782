#pragma once
// Where does a file lie: on this machine, on storage that many machines share, or nowhere? Blocks
// as long as the file system does.

#include <cstdint>
#include <string>

namespace robustrun::bootstrap {

enum class FileSystem : std::uint8_t {
  kLocal,    // a disk of this machine, or a kind that is not known
  kShared,   // over a network, through FUSE, or an image that may lie on such storage
  kMemory,   // tmpfs, proc, sysfs …: nothing to read ahead
  kMissing,  // there is no such file, or it cannot be looked at
};

// By statfs(2) and the numbers of linux/magic.h; those of Lustre, GPFS and BeeGFS, whose headers
// are not the kernel's, as coreutils' stat has them.
[[nodiscard]] FileSystem file_system_of(const std::string& path);

}  // namespace robustrun::bootstrap
