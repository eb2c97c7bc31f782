#pragma once
// One file that the lanes of a mount write: created, written, and synced by the last lane, or given
// up. Shared by all lanes, because a call that hangs outlives the save.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"

namespace robustrun::checkpoint {

struct MountFile {
  std::uint32_t mount = 0;
  std::string name;
  std::string path;
  std::shared_ptr<Arena> arena;  // memory that the lanes write from
  bool made = false;
  std::unique_ptr<OutputFile> output;
  std::atomic<std::uint32_t> at_work = 0;  // lanes that are still writing
  std::atomic<bool> failed = false;  // a lane failed, so the file is unusable
  base::Status synced = base::fail(base::Errc::kCancelled, "not synced");
  base::Status status;  // of the whole file
};

// With stem "d-x" and end ".safetensors": "d-x-m1.safetensors" on mount 1 in round 0,
// "d-x-m1-3.safetensors" in round 3. `round` is tried first. While a file of that name exists,
// which a writer that died may have left, up to kTakenNamesMax further rounds are tried.
struct MountFileName {
  std::string folder;
  std::string stem;
  std::string end;
  std::size_t round = 0;
};
// Creates the file for all lanes. A failure is stored in its status.
void make_file(MountThreads& threads, Disk& disk, MountFile& file, const MountFileName& name,
               std::uint64_t bytes);

// Called when a lane has finished. The last one tries to sync the file, unless a lane failed, and
// returns true once it has tried.
bool end_lane(MountFile& file, Disk& disk, LifeSign& sign);

// Removes the file to free its space, if the mount answers.
void give_up_file(MountThreads& threads, Disk& disk, std::shared_ptr<MountFile> file);

}  // namespace robustrun::checkpoint
