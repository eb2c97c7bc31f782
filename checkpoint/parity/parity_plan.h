#pragma once
// Which extents share parity, and on which mount it goes: the members of a group lie on mounts of
// their own, so that a lost mount takes one member of each group at most. Plan only.
//
// Extents are kExtentBytes of a file (its header apart), cut in the order of their size, so that
// extents of one size meet and parity is no longer than it need be. Each group takes the next
// extent of those mounts that have the most left, all but `parity` of them; its parity goes to the
// others, to the one first that would be done first. On mounts of one speed this is RAID's
// rotation.

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/layout.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct PlannedParity {
  // Files of parity are numbered behind the data files.
  std::vector<ParityGroup> groups;
  struct File {
    std::uint32_t mount = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;  // at most one for each mount
};

// `files`: what was written to the mounts. kLimit: fewer mounts than `parity` + 1, or no room.
base::Result<PlannedParity> plan_parity(std::span<const DataFile> files,
                                        std::span<const MountSpace> mounts, std::size_t parity);

}  // namespace robustrun::checkpoint
