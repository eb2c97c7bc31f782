#include "bootstrap/image/file_system.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace robustrun::bootstrap {
namespace {

constexpr std::uint32_t kLustre = 0x0BD00BD0;
constexpr std::uint32_t kGpfs = 0x47504653;
constexpr std::uint32_t kBeeGfs = 0x19830326;
constexpr std::uint32_t kFuse = 0x65735546;
constexpr std::uint32_t kCifs = 0xFF534D42;
constexpr std::uint32_t kSmb2 = 0xFE534D42;
constexpr std::uint32_t kCeph = 0x00C36400;
constexpr std::array<std::uint32_t, 12> kSharedKinds = {
    NFS_SUPER_MAGIC, kLustre, kGpfs,      kBeeGfs,         kFuse,           kCifs,
    kSmb2,           kCeph,   V9FS_MAGIC, AFS_SUPER_MAGIC, SMB_SUPER_MAGIC, SQUASHFS_MAGIC};
constexpr std::array<std::uint32_t, 8> kMemoryKinds = {
    TMPFS_MAGIC,   RAMFS_MAGIC,        PROC_SUPER_MAGIC,    SYSFS_MAGIC,
    DEBUGFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC};

}  // namespace

FileSystem file_system_of(const std::string& path) {
  struct statfs info{};
  if (::statfs(path.c_str(), &info) != 0) return FileSystem::kMissing;
  const auto kind = static_cast<std::uint32_t>(info.f_type);
  if (std::ranges::find(kSharedKinds, kind) != kSharedKinds.end()) return FileSystem::kShared;
  if (std::ranges::find(kMemoryKinds, kind) != kMemoryKinds.end()) return FileSystem::kMemory;
  return FileSystem::kLocal;
}

}  // namespace robustrun::bootstrap
