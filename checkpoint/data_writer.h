#pragma once
// Writes the data of one writer's shards over its mounts and syncs it. Owns the memory and the
// threads for that, kept from save to save. One call at a time.
//
// A mount that fails (ENOSPC, EIO) loses its file; what it should have held is planned again over
// the others, until none is left. The callers' buffers are read once, never changed.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk.h"
#include "checkpoint/manifest.h"

namespace robustrun::checkpoint {

struct MountFolder {
  std::string folder;  // where the file goes; empty: the mount is not to be used
  double weight = 1;
};

struct DataRequest {
  std::span<const Shard> shards;               // pieces and CRCs are filled in the answer
  std::span<const std::string_view> sources;   // as many; each as long as its shard says
  std::span<const MountFolder> mounts;
  std::string file_prefix;                     // "d-node0": names are "d-node0-m1.safetensors"
};

struct DataSaved {
  std::vector<DataFile> files;
  std::vector<Shard> shards;
  std::vector<std::string> notes;  // which mounts failed, and how
};

class DataWriter {
 public:
  static base::Result<DataWriter> make(Disk& disk, std::size_t mounts,
                                       std::uint32_t workers_per_mount);
  DataWriter(DataWriter&&) noexcept;
  DataWriter& operator=(DataWriter&&) noexcept;
  ~DataWriter();

  base::Result<DataSaved> save(const DataRequest& request);

 private:
  struct State;
  explicit DataWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
