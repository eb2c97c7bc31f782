#pragma once
// Copies the files of a writer's part from local disks to shared storage while training goes on.
// The files keep their names and go into the folders of the same attempt. The manifest stays
// unchanged, because files are found by name in any of the attempt's folders. Every byte is
// verified on the way; a file appears either whole or not at all.
//
// Each writer copies its own files and then records in the home that they are drained
// (`drained-WRITER`). The last writer records that the checkpoint needs no local disk any more
// (DRAINED). Files that are already on shared storage are not copied. The commit does not wait for
// the drain. If a machine is lost before its files are drained, the data on its local disks is
// lost.
//
// A process that dies leaves complete files, which are not copied again, and partial files, called
// NAME.drain-gGENERATION-TOKEN.tmp. A later generation finishes the drain with rest(). A generation
// behind the fence neither gives a file its final name nor records that a writer's files are
// drained.
//
// Used by one thread, except limit_writes().

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
  std::vector<std::string> local;  // checkpoint directories on this machine's own disks
  IoWay io = IoWay::kAuto;
  std::chrono::milliseconds patience = kPatience;
  Disk* disk = nullptr;  // null: the real one
  const base::Clock* clock = nullptr;  // null: the system's
};

// How the `of` ranks of one machine, which see the same files, share the work of rest(): of the
// writers whose files are all visible here, this rank takes the one at index `number` and every
// `of`-th after it.
struct Turn {
  std::size_t number = 0;
  std::size_t of = 1;
};

struct Drained {
  bool complete = false;  // the files of all writers are drained, and this call recorded it
  std::uint64_t bytes = 0;  // bytes written
  std::vector<std::string> notes;  // directories that could not be used
};

class LocalDrain {
 public:
  explicit LocalDrain(LocalDrainOptions options);
  LocalDrain(const LocalDrain&) = delete;
  LocalDrain& operator=(const LocalDrain&) = delete;

  // From now on, acts for this generation, which the fence must admit. The initial value is 0,
  // which is valid only while no generation was admitted.
  void act_for(std::uint64_t generation) { generation_ = generation; }
  // Drains the files of `writer`, whose part of the attempt is published. An attempt that retention
  // has removed meanwhile is not an error. kCorrupt, kUnavailable: the local disk failed.
  // kConflict: a later generation was admitted. Other errors: all directories failed; the error is
  // that of the last one.
  base::Result<Drained> drain(const AttemptId& attempt, const std::string& writer);
  // Drains an attempt that other processes have committed: the files of the writers that `turn`
  // gives this rank.
  base::Result<Drained> rest(const AttemptId& attempt, Turn turn);
  // Removes the partial files that earlier generations left in the directories.
  base::Status remove_halves();
  // Removes attempts from the local disks: those that retention has removed from the directories,
  // and drained ones that are not pinned. Removes only attempts that are older than a verified one
  // on shared storage, and none while a directory cannot be read. Returns the attempts removed.
  base::Result<std::vector<AttemptId>> clean();

  // Limits the write rate, also of a running drain; 0, the initial value: no limit. May be called
  // by any thread.
  void limit_writes(std::uint64_t bytes_per_s) { rate_.limit(bytes_per_s); }

 private:
  base::Status check_fence();
  bool sees_all(const Manifest& part);
  base::Status copy_file(CheckpointReader& reader, const Manifest& part, std::size_t index,
                         Drained& drained);
  // Sets `refused` to the cause if another directory would not help.
  base::Status copy_to(const std::string& path, CheckpointReader& reader, std::size_t index,
                       base::Status& refused);
  base::Status write_half(const std::string& path, CheckpointReader& reader, std::size_t index,
                          base::Status& refused);
  base::Result<bool> record_drained(const AttemptId& attempt, const std::string& writer);
  base::Result<bool> exists(const std::string& path);
  bool is_whole(const std::string& path, std::uint64_t bytes);
  base::Status remove_halves_in(const std::string& folder);
  base::Status remove_local(const FoundAttempt& found);

  LocalDrainOptions options_;
  MountThreads threads_;  // of the directories, then of the local disks
  GuardedDisk disk_;
  WriteRate rate_;
  std::uint64_t generation_ = 0;
  std::uint64_t token_;  // in the names of partial files
};

}  // namespace robustrun::checkpoint
