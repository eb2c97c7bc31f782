#pragma once
// One file that all lanes (threads) of a mount write together. All lanes own it together, because a
// call that hangs outlives the save.

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
  bool made = false;  // the file was created
  std::unique_ptr<OutputFile> output;
  std::atomic<std::uint32_t> at_work = 0;  // lanes that are still writing
  std::atomic<bool> failed = false;  // a lane failed, so the file is unusable
  base::Status synced = base::fail(base::Errc::kCancelled, "not synced");
  base::Status status;  // of the whole file
};

// The name of a MountFile. With stem "d-x" and end ".safetensors", it is "d-x-m1.safetensors" on
// mount 1 in round 0 and "d-x-m1-3.safetensors" in round 3. A save begins a new round after a
// failure.
struct MountFileName {
  std::string folder;
  std::string stem;
  std::string end;
  std::size_t round = 0;
};
// Creates the file for all lanes. While a file of that name exists, which a writer that died may
// have left, the next round is tried, at most kTakenNamesMax times. A failure is stored in
// file.status.
void make_file(MountThreads& threads, Disk& disk, MountFile& file, const MountFileName& name,
               std::uint64_t bytes);

// Each lane calls this when it has finished. The last call syncs the file and its folder, stores
// the result in file.synced and returns true. Returns false in earlier calls, if a lane failed, and
// if the sync was given up.
bool end_lane(MountFile& file, Disk& disk, LifeSign& sign);

// Removes the file to free its space, if the mount answers.
void give_up_file(MountThreads& threads, Disk& disk, std::shared_ptr<MountFile> file);

}  // namespace robustrun::checkpoint
