#pragma once
// Computes the parity of data files from the memory from which they were written, writes it and
// syncs it. One call at a time.
//
// If a mount fails or does not answer (mount_threads.h), all parity is planned again over the other
// mounts. If these are too few, the save has no parity, and a note says so.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/write_rate.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/store/data_writer.h"

namespace robustrun::checkpoint {

struct ParityRequest {
  std::span<const DataFile> files;
  std::span<const std::string> headers;  // one per file
  std::span<const Shard> shards;  // with their pieces
  std::span<const std::string_view> sources;  // one per shard
  std::span<const MountFolder> mounts;
  std::string file_prefix;  // "p-node0": names are "p-node0-m1.rrparity"
  WriteRate* rate = nullptr;  // may be null
};

struct ParitySaved {
  std::vector<DataFile> files;  // in `groups`, their indices continue after those of the data files
  std::vector<ParityGroup> groups;
  std::vector<std::string> notes;
};

class ParityWriter {
 public:
  // `parity`: how many mounts may be lost, above 0. `arena`: from DataWriter::arena(). `disk` and
  // `threads` must outlive the writer.
  ParityWriter(Disk& disk, MountThreads& threads, std::shared_ptr<Arena> arena, std::size_t parity);

  ParitySaved save(const ParityRequest& request);

 private:
  Disk* disk_;
  MountThreads* threads_;
  std::shared_ptr<Arena> arena_;
  std::size_t parity_;
};

}  // namespace robustrun::checkpoint
