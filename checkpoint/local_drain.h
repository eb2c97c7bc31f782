#pragma once
// From the disks of one machine to shared storage, while the training goes on: copies of the files
// of a writer's part, under their names, into the same attempt's folders. The manifest stays what
// it is, because files are found by name in any of the attempt's folders. Every byte is verified
// on the way; a file is there as a whole or not at all.
//
// Each writer copies its own files and then says so (`drained-WRITER` in the home); whoever is the
// last says for all that the checkpoint needs no local disk any more (DRAINED). What a writer has
// on shared storage already it need not copy. Nothing here is needed for the commit, so a machine
// that is lost meanwhile loses nothing that was not on its disks alone.
//
// Used by one thread, but for limit_writes().

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "checkpoint/catalog.h"
#include "checkpoint/disk.h"
#include "checkpoint/guarded_disk.h"
#include "checkpoint/mount_threads.h"
#include "checkpoint/reader.h"
#include "checkpoint/write_rate.h"

namespace robustrun::checkpoint {

struct LocalDrainOptions {
  std::vector<std::string> directories;  // of the mounts; the first is the home
  std::vector<std::string> local;
  IoWay io = IoWay::kAuto;
  std::chrono::milliseconds patience = kPatience;
  Disk* disk = nullptr;  // null: the real one
  const base::Clock* clock = nullptr;  // null: the system's
};

struct Drained {
  bool complete = false;  // by this call: no writer's files are on local disks alone any more
  std::uint64_t bytes = 0;  // that were written
  std::vector<std::string> notes;  // directories that were done without
};

class LocalDrain {
 public:
  explicit LocalDrain(LocalDrainOptions options);
  LocalDrain(const LocalDrain&) = delete;
  LocalDrain& operator=(const LocalDrain&) = delete;

  // Of an attempt for which this writer has published its part. One that retention has removed
  // meanwhile is none to copy, and no error. kCorrupt, kUnavailable: of the local disk; else what
  // is wrong with every one of the directories.
  base::Result<Drained> drain(const AttemptId& attempt, const std::string& writer);
  // Removes from the local disks what retention has removed from the directories, and what is there
  // and older than the newest that is; nothing that is not older than a verified one on shared
  // storage. Answers which.
  base::Result<std::vector<AttemptId>> clean();

  // From now on, also of a drain that goes on; 0, as at first: no limit. By any thread.
  void limit_writes(std::uint64_t bytes_per_s) { rate_.limit(bytes_per_s); }

 private:
  base::Status copy_file(CheckpointReader& reader, const Manifest& part, std::size_t index,
                         Drained& drained);
  // `source`: what is wrong with the file that is read.
  base::Status copy_to(const std::string& path, CheckpointReader& reader, std::size_t index,
                       base::Status& source);
  base::Result<bool> say_drained(const AttemptId& attempt, const std::string& writer);
  base::Result<bool> exists(const std::string& path);
  base::Status remove_local(const FoundAttempt& found);

  LocalDrainOptions options_;
  MountThreads threads_;  // of the directories, then of the local ones
  GuardedDisk disk_;
  WriteRate rate_;
};

}  // namespace robustrun::checkpoint
