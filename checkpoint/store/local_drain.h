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
// A process that dies leaves files of which all is there and that nobody copies again, and halves
// under names of their own (NAME.drain-gGENERATION-TOKEN.tmp). A later generation finishes what it
// finds: rest() copies what is missing. Behind the fence nobody gives a file its name, or says that
// a writer's are there.
//
// Used by one thread, but for limit_writes().

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/guarded_disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/disk/write_rate.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"

namespace robustrun::checkpoint {

struct LocalDrainOptions {
  std::vector<std::string> directories;  // of the mounts; the first is the home
  std::vector<std::string> local;
  IoWay io = IoWay::kAuto;
  std::chrono::milliseconds patience = kPatience;
  Disk* disk = nullptr;  // null: the real one
  const base::Clock* clock = nullptr;  // null: the system's
};

// Ranks of one machine see the same files: each copies those of every `of`-th writer.
struct Turn {
  std::size_t number = 0;
  std::size_t of = 1;
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

  // From now on in the name of this generation, which the fence has to admit; 0, as at first: of
  // nobody, where no generation was admitted yet.
  void act_for(std::uint64_t generation) { generation_ = generation; }
  // Of an attempt for which this writer has published its part. One that retention has removed
  // meanwhile is none to copy, and no error. kCorrupt, kUnavailable: of the local disk; kConflict:
  // a later generation was admitted; else what is wrong with every one of the directories.
  base::Result<Drained> drain(const AttemptId& attempt, const std::string& writer);
  // Of an attempt that others have committed: the same for each writer all of whose files are to be
  // seen here, where it is this one's turn.
  base::Result<Drained> rest(const AttemptId& attempt, Turn turn);
  // Removes from the directories the halves of files that earlier generations have left.
  base::Status remove_halves();
  // Removes from the local disks what retention has removed from the directories, and what is there
  // and older than the newest that is; nothing that is not older than a verified one on shared
  // storage. Answers which.
  base::Result<std::vector<AttemptId>> clean();

  // From now on, also of a drain that goes on; 0, as at first: no limit. By any thread.
  void limit_writes(std::uint64_t bytes_per_s) { rate_.limit(bytes_per_s); }

 private:
  base::Status check_fence();
  bool sees_all(const Manifest& part);
  base::Status copy_file(CheckpointReader& reader, const Manifest& part, std::size_t index,
                         Drained& drained);
  // `refused`: why no other directory would do either.
  base::Status copy_to(const std::string& path, CheckpointReader& reader, std::size_t index,
                       base::Status& refused);
  base::Status write_half(const std::string& path, CheckpointReader& reader, std::size_t index,
                          base::Status& refused);
  base::Result<bool> say_drained(const AttemptId& attempt, const std::string& writer);
  base::Result<bool> exists(const std::string& path);
  bool is_whole(const std::string& path, std::uint64_t bytes);
  base::Status remove_halves_in(const std::string& folder);
  base::Status remove_local(const FoundAttempt& found);

  LocalDrainOptions options_;
  MountThreads threads_;  // of the directories, then of the local ones
  GuardedDisk disk_;
  WriteRate rate_;
  std::uint64_t generation_ = 0;
  std::uint64_t token_;  // of the halves' names
};

}  // namespace robustrun::checkpoint
