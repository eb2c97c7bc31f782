#pragma once
// Plans which extents share parity and which mount stores it. The members of a group lie on
// different mounts, so a lost mount takes at most one member of each group. Pure planning.
//
// A file's header and its data are cut separately into extents of at most kExtentBytes. Each mount
// gives its largest extents first: so extents of equal size meet, and parity is no longer than
// necessary. A group takes one extent each from as many mounts as it may (kGroupMembersMax bounds
// it), first from those with the most extents left; at least `parity` usable mounts stay out of it.
// Its parity goes to usable mounts that gave no extent, first to the one that would be done with
// all its writes first. On mounts of equal speed this is RAID's rotation.

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/layout.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct PlannedParity {
  // File indices of parity continue after those of the data files.
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
