#pragma once
// Plans which extents share parity and which mount stores it. The members of a group lie on
// different mounts, so a lost mount takes at most one member of each group. Pure.
//
// A file's header and its data are cut separately into extents of at most kExtentBytes. Each group
// takes one extent from each of as many mounts as possible. But `parity` usable mounts must be left
// over for the group's parity, and the group has at most kGroupMembersMax members. Mounts with the
// most extents left come first, and each gives its largest extent, so that extents of similar
// length share parity. Of the mounts left over, those that would finish all their writes first take
// the parity. On mounts of equal speed this rotates the parity over the mounts, as RAID 5 does.

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/layout.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct PlannedParity {
  // The indices of parity files continue after those of the data files.
  std::vector<ParityGroup> groups;
  struct File {
    std::uint32_t mount = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;  // at most one per mount
};

// `files`: the data files that were written. kLimit: fewer than `parity` + 1 mounts are usable
// (weight above 0), or there is too little room.
base::Result<PlannedParity> plan_parity(std::span<const DataFile> files,
                                        std::span<const MountSpace> mounts, std::size_t parity);

}  // namespace robustrun::checkpoint
