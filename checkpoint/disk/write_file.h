#pragma once
// Writes one planned file: gathers its pieces in arena memory, computes their CRCs and writes
// extent by extent. Several workers share a file: each writes every n-th extent from memory of its
// own, so that one computes while another waits for the disk.

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

// A CRC that a worker computed; the CRCs are joined when all workers are done.
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

struct WriteShare {
  const PlannedFile* file = nullptr;
  std::span<const std::string_view> sources;  // by shard
  OutputFile* output = nullptr;
  std::uint32_t worker = 0;   // index, below `workers`
  std::uint32_t workers = 1;
  char* memory = nullptr;     // kExtentBytes, aligned
  LifeSign* sign = nullptr;
  // Another worker's write failed, so the file is unusable.
  const std::atomic<bool>* failed = nullptr;
  WriteRate* rate = nullptr;
};

// Writes the extents worker, worker + workers, ... of the file's data; worker 0 also writes the
// header. Sources are read only between writes, never after a write that was given up.
[[nodiscard]] WorkerResult write_share(const WriteShare& share);

// The file and the CRC of each of its pieces (by index), joined from the results of all workers.
struct WrittenFile {
  DataFile file;
  std::vector<std::uint32_t> piece_crcs;
};
[[nodiscard]] WrittenFile join_results(const PlannedFile& plan, std::span<WorkerResult> results);

}  // namespace robustrun::checkpoint
