#include "checkpoint/disk/mount_space.h"

#include <sys/statvfs.h>

namespace robustrun::checkpoint {
namespace {

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs status{};
  if (::statvfs(folder.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace

std::vector<MountSpace> spaces_of(std::span<const MountFolder> mounts) {
  std::vector<MountSpace> spaces;
  for (const MountFolder& mount : mounts) {
    const bool used = !mount.folder.empty();
    spaces.push_back({used ? mount.weight : 0, used ? free_bytes(mount.folder) : 0});
  }
  return spaces;
}

std::vector<MountSpace> spaces_of(MountThreads& threads, std::span<const MountFolder> mounts) {
  std::vector<MountSpace> spaces(mounts.size(), {0, 0});
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (mounts[i].folder.empty()) continue;
    const auto space = threads.call(i, [mount = mounts[i]]() -> base::Result<MountSpace> {
      return spaces_of({&mount, 1}).front();
    });
    if (space) spaces[i] = *space;
  }
  return spaces;
}

}  // namespace robustrun::checkpoint
