#pragma once
// Which bytes of which shard go where: pieces of at most kExtentBytes, spread over the mounts by
// their weights, within their free space. Plan only: plain data in, plain data out.
//
// Each piece goes to the mount that would be done with it first (bytes / weight, greedy list
// scheduling). Pieces of a block or more begin at a multiple of kAlignment, smaller ones of
// kSmallAlignment; every file is a multiple of kAlignment, so that all of it can be written past
// the page cache. Shards are cut between rows where a row fits, else between elements.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/extent_header.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct MountSpace {
  double weight = 1;             // bytes a second, or any measure of speed; 0: not used
  std::uint64_t free_bytes = 0;  // what may be taken
};

// Bytes of one shard, to be placed.
struct Slice {
  std::uint32_t shard = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

struct PlannedPiece {
  Slice slice;
  std::uint64_t offset = 0;  // from the beginning of the data of its file
};

struct PlannedFile {
  std::uint32_t mount = 0;
  std::vector<PlannedPiece> pieces;  // by offset
  std::string header;
  std::uint64_t data_bytes = 0;
};

// All slices of `shards`, in their order.
[[nodiscard]] std::vector<Slice> slices_of(std::span<const Shard> shards);
// At most one file for each mount. kLimit when the mounts together have no room.
base::Result<std::vector<PlannedFile>> plan_files(std::span<const Shard> shards,
                                                  std::span<const Slice> slices,
                                                  std::span<const MountSpace> mounts);

}  // namespace robustrun::checkpoint
