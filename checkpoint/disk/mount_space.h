#pragma once
// What may be written to which mount, now.

#include <span>
#include <string>
#include <vector>

#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/format/layout.h"

namespace robustrun::checkpoint {

struct MountFolder {
  std::string folder;  // where files go; empty: the mount is not to be used
  double weight = 1;
};

// Weights and free bytes (statvfs), as many as `mounts`; a mount not to be used has weight 0.
[[nodiscard]] std::vector<MountSpace> spaces_of(std::span<const MountFolder> mounts);
// The same, where `mounts` are those of `threads`: one that does not answer has weight 0, too.
[[nodiscard]] std::vector<MountSpace> spaces_of(MountThreads& threads,
                                                std::span<const MountFolder> mounts);

}  // namespace robustrun::checkpoint
