#pragma once
// One file of a mount while the mount's lanes write it: made, written, synced by the last of them,
// or given up. Shared by all who may still be at it, because a call that hangs is left behind.

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
  std::shared_ptr<Arena> arena;  // what the lanes write from
  bool made = false;
  std::unique_ptr<OutputFile> output;
  std::atomic<std::uint32_t> at_work = 0;  // lanes
  std::atomic<bool> failed = false;        // a lane has: the file is no good
  base::Status synced = base::fail(base::Errc::kCancelled, "it was not synced");
  base::Status status;  // of all of it
};

// `stem`-m1.end, or `stem`-m1-N.end with N from `round` on, where somebody died who had begun to
// write the same.
struct MountFileName {
  std::string folder;
  std::string stem;
  std::string end;
  std::size_t round = 0;
};
// Makes it, for every lane to write; what goes wrong is its status.
void make_file(MountThreads& threads, Disk& disk, MountFile& file, const MountFileName& name,
               std::uint64_t bytes);

// A lane is done with it. True: it was the last one and has tried to sync the file.
bool end_lane(MountFile& file, Disk& disk, LifeSign& sign);

// Its space, if it can be had.
void give_up_file(MountThreads& threads, Disk& disk, std::shared_ptr<MountFile> file);

}  // namespace robustrun::checkpoint
