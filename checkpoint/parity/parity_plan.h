#pragma once
// Plans which extents share parity and which mount stores it. The members of a group lie on
// different mounts, so a lost mount takes at most one member of each group. Pure.
//
// A file's header and its data are cut separately into extents of at most kExtentBytes. Each group
// takes one extent from each of several mounts: as many as possible, but at most kGroupMembersMax
// members in all, and at least `parity` usable mounts give none. Mounts with the most extents left
// come first, and each gives its largest extent, so that extents of similar length share parity.
// The parity goes to usable mounts that gave no extent: to those that would be done with all their
// writes first. On mounts of equal speed this rotates the parity over the mounts, as RAID 5 does.

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
