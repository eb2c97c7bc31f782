#pragma once
// Plans which extents share parity and which mount stores it. The members of a group lie on
// different mounts, so a lost mount takes at most one member of each group. Pure planning.
//
// Extents are kExtentBytes of a file (without its header), grouped by descending size, so that
// extents of equal size meet and parity is no longer than necessary. Each group takes the next
// extent from the mounts with the most extents left, all but `parity` of them. Its parity goes to
// the remaining mounts, first to the one that would finish it first. On mounts of equal speed this
// is RAID's rotation.

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/layout.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct PlannedParity {
  // File indices of parity follow those of the data files.
  std::vector<ParityGroup> groups;
  struct File {
    std::uint32_t mount = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;  // at most one per mount
};

// `files`: the data files that were written. kLimit: there are fewer than `parity` + 1 mounts, or
// too little room.
base::Result<PlannedParity> plan_parity(std::span<const DataFile> files,
                                        std::span<const MountSpace> mounts, std::size_t parity);

}  // namespace robustrun::checkpoint
