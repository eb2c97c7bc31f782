#pragma once
// Plans which bytes of which shard go to which mount: pieces of at most kExtentBytes are spread
// over the mounts according to their weights, within their free space. Pure.
//
// Each piece goes to the mount that would finish it first (bytes / weight, greedy list scheduling).
// Pieces of kBlockBytes or more begin at a multiple of kAlignment, smaller pieces at a multiple of
// kSmallAlignment. Every file is a multiple of kAlignment long, so that all of it can bypass the
// page cache. Shards are cut between rows of the first dimension; if a row exceeds kExtentBytes,
// between elements.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/extent_header.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct MountSpace {
  double weight = 1;  // relative speed, in any unit; 0: not used
  std::uint64_t free_bytes = 0;  // bytes that may be used
};

// A byte range of one shard.
struct Slice {
  std::uint32_t shard = 0;  // index into the shards
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// A slice and its place in a file.
struct PlannedPiece {
  Slice slice;
  std::uint64_t offset = 0;  // from the start of the file's data
};

struct PlannedFile {
  std::uint32_t mount = 0;  // index into the mounts
  std::vector<PlannedPiece> pieces;  // by offset
  std::string header;
  std::uint64_t data_bytes = 0;
};

// Cuts all `shards` into slices, in order.
[[nodiscard]] std::vector<Slice> slices_of(std::span<const Shard> shards);
// Returns at most one file per mount. kLimit: no mount has room for one of the slices.
base::Result<std::vector<PlannedFile>> plan_files(std::span<const Shard> shards,
                                                  std::span<const Slice> slices,
                                                  std::span<const MountSpace> mounts);

}  // namespace robustrun::checkpoint
