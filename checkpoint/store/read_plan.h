#pragma once
// Plans which parts of which files to read for a set of shard ranges. Because a CRC covers a block,
// whole blocks are read: consecutive ones together, and each only once unless requests overlap. The
// reader then copies the wanted bytes from its own memory to their destinations. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

// Bytes of a shard from `begin` on, as many as `destination` holds.
struct ReadRequest {
  std::size_t shard = 0;
  std::uint64_t begin = 0;
  std::span<char> destination;
};

// Requested bytes within one piece and one run.
struct ReadCopy {
  std::size_t shard = 0;
  std::size_t piece = 0;  // within the shard
  std::uint64_t offset = 0;  // from the beginning of the file
  std::span<char> destination;
};

// Consecutive whole blocks of a file, at most kExtentBytes.
struct ReadRun {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint64_t bytes = 0;
  std::size_t first_block = 0;
  std::vector<ReadCopy> copies;
};

// Returns the runs by file and, unless requests overlap, by offset. Requests must lie within their
// shards.
[[nodiscard]] std::vector<ReadRun> plan_reads(const Manifest& manifest,
                                              std::span<const ReadRequest> requests);
// All blocks of all files.
[[nodiscard]] std::vector<ReadRun> plan_all_blocks(const Manifest& manifest);

}  // namespace robustrun::checkpoint
