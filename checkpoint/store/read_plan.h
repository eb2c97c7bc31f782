#pragma once
// Which parts of which files are read for some ranges of shards. A CRC is of a block, so whole
// blocks are read, each once, those that follow each other together; what is wanted of them is
// copied out of the reader's own memory. Plan only: plain data in, plain data out.

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

// Bytes of a shard, and where they go: as many as `destination` has room for.
struct ReadRequest {
  std::size_t shard = 0;
  std::uint64_t begin = 0;
  std::span<char> destination;
};

// Wanted bytes within one piece, or a part of them within one run.
struct ReadCopy {
  std::size_t shard = 0;
  std::size_t piece = 0;     // within the shard
  std::uint64_t offset = 0;  // from the beginning of the file
  std::span<char> destination;
};

// Whole blocks of a file that follow each other, kExtentBytes at most.
struct ReadRun {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint64_t bytes = 0;
  std::size_t first_block = 0;
  std::vector<ReadCopy> copies;
};

// By file and offset. Requests lie within their shards.
[[nodiscard]] std::vector<ReadRun> plan_reads(const Manifest& manifest,
                                              std::span<const ReadRequest> requests);
// All blocks of all files.
[[nodiscard]] std::vector<ReadRun> plan_all_blocks(const Manifest& manifest);

}  // namespace robustrun::checkpoint
