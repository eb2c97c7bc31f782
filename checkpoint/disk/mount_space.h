#pragma once
// How many bytes each mount can take at present.

#include <span>
#include <string>
#include <vector>

#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/format/layout.h"

namespace robustrun::checkpoint {

struct MountFolder {
  std::string folder;  // where files go; empty: do not use this mount
  double weight = 1;
};

// Weight and free bytes (statvfs) of each mount. A mount that must not be used has weight 0.
[[nodiscard]] std::vector<MountSpace> spaces_of(std::span<const MountFolder> mounts);
// As above; `mounts` are those of `threads`, in the same order. A mount that does not answer also
// has weight 0.
[[nodiscard]] std::vector<MountSpace> spaces_of(MountThreads& threads,
                                                std::span<const MountFolder> mounts);

}  // namespace robustrun::checkpoint
