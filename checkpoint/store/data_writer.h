#pragma once
// Writes the data of one writer's shards across its mounts and syncs it. Owns the memory from which
// it writes and keeps that memory between saves. One call at a time.
//
// If a mount fails (ENOSPC, EIO) or does not answer (mount_threads.h), its file is given up and its
// share is planned again over the other mounts. Each save measures the mounts' speeds, which decide
// their shares in the next save. The caller's buffers are read once, and again after a failure.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_space.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/disk/write_rate.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

struct DataRequest {
  std::span<const Shard> shards;  // pieces and CRCs are ignored; the result has them
  std::span<const std::string_view> sources;  // one per shard, of its length
  std::span<const MountFolder> mounts;
  std::string file_prefix;  // "d-node0": names are "d-node0-m1.safetensors"
  WriteRate* rate = nullptr;  // may be null
};

struct DataSaved {
  std::vector<DataFile> files;
  std::vector<std::string> headers;  // of `files`
  std::vector<Shard> shards;
  std::vector<std::string> notes;  // which mounts failed or are slow, and how
};

class DataWriter {
 public:
  // `mounts`: the number of mounts of `threads`. `disk` and `threads` must outlive the writer.
  static base::Result<DataWriter> make(Disk& disk, MountThreads& threads, std::size_t mounts);
  DataWriter(DataWriter&&) noexcept;
  DataWriter& operator=(DataWriter&&) noexcept;
  ~DataWriter();

  // kLimit: the mounts that work have too little room.
  base::Result<DataSaved> save(const DataRequest& request);

  // The writer's memory, for ParityWriter: kExtentBytes for each lane of each mount, mount by
  // mount. Must not be used while save() runs.
  [[nodiscard]] std::shared_ptr<Arena> arena() const;

 private:
  struct State;
  explicit DataWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
