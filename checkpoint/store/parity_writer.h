#pragma once
// Computes the parity of files that have been written, from the same sources, and writes and syncs
// it. One call at a time.
//
// A mount that fails or does not answer (mount_threads.h) is done without: all parity is planned
// again over the others. Where that does not go there is no parity, which is said: data is never
// given up for want of it.

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
  std::span<const std::string> headers;       // as many as files
  std::span<const Shard> shards;              // with their pieces
  std::span<const std::string_view> sources;  // as many as shards; what was written
  std::span<const MountFolder> mounts;
  std::string file_prefix;  // "p-node0": names are "p-node0-m1.rrparity"
  WriteRate* rate = nullptr;
};

struct ParitySaved {
  std::vector<DataFile> files;  // numbered behind the data files
  std::vector<ParityGroup> groups;
  std::vector<std::string> notes;
};

class ParityWriter {
 public:
  // `parity`: how many mounts may be lost. `arena`: as DataWriter::arena(). The others are not
  // owned.
  ParityWriter(Disk& disk, MountThreads& threads, std::shared_ptr<Arena> arena, std::size_t parity);

  ParitySaved save(const ParityRequest& request);

 private:
  Disk* disk_;
  MountThreads* threads_;
  std::shared_ptr<Arena> arena_;
  std::size_t parity_;
};

}  // namespace robustrun::checkpoint
