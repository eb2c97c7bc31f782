#pragma once
// Writes one planned file: copies its pieces into aligned memory, computes their CRCs and writes
// them extent by extent (kExtentBytes). Several threads, here called workers, share a file: each of
// n workers writes every n-th extent from memory of its own, so that one computes while another
// waits for the disk.

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/disk/write_rate.h"
#include "checkpoint/format/layout.h"

namespace robustrun::checkpoint {

// The CRC of a part of a piece, computed by one worker.
struct PieceCrc {
  std::uint32_t piece = 0;  // index into PlannedFile::pieces
  std::uint64_t begin = 0;  // within the piece
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

struct WorkerResult {
  bool given_up = false;  // the other members are then meaningless
  base::Status status;
  std::vector<PieceCrc> pieces;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> blocks;  // index of block, CRC
};

// What one worker needs to write its share of a file.
struct WriteShare {
  const PlannedFile* file = nullptr;
  std::span<const std::string_view> sources;  // the bytes of each shard
  OutputFile* output = nullptr;
  std::uint32_t worker = 0;  // index, below `workers`
  std::uint32_t workers = 1;
  char* memory = nullptr;  // kExtentBytes, aligned to kAlignment
  LifeSign* sign = nullptr;
  // Set when another worker's write fails, which makes the file unusable.
  const std::atomic<bool>* failed = nullptr;
  WriteRate* rate = nullptr;  // may be null
};

// Writes the extents worker, worker + workers, ... of the file's data; worker 0 also writes the
// header. Sources are read only between writes, never after a write that was given up.
[[nodiscard]] WorkerResult write_share(const WriteShare& share);

// The file, still without a name, and the CRC of each of its pieces, by index. Joined from the
// results of all workers.
struct WrittenFile {
  DataFile file;
  std::vector<std::uint32_t> piece_crcs;
};
[[nodiscard]] WrittenFile join_results(const PlannedFile& plan, std::span<WorkerResult> results);

}  // namespace robustrun::checkpoint
