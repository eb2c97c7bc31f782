#pragma once
// Held while it is decided who may commit: an flock on `.lock` in the home directory, which the
// kernel lets go when its holder dies. Who gets it writes its process id and host there, for those
// who wait in vain. Used by the thread that uses the home's MountThreads.

#include <chrono>
#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/disk/mount_threads.h"

namespace robustrun::checkpoint {

// Holders write small files. The longest is a claim that reads back what a job before it left
// complete, a whole checkpoint; who comes meanwhile must not give up.
inline constexpr std::chrono::milliseconds kLockPatience{30 * 60'000};

class DirectoryLock {
 public:
  // kTimeout: others have had it for all of `patience`; names the last of them. ETIMEDOUT: the home
  // does not answer. `threads`: those of the home among others; not owned.
  static base::Result<DirectoryLock> take(const std::string& home, MountThreads& threads,
                                          std::chrono::milliseconds patience);
  DirectoryLock(DirectoryLock&&) = default;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  // Lets go also where a child of this process has inherited the open file.
  ~DirectoryLock();

 private:
  DirectoryLock(base::Fd file, MountThreads& threads, std::size_t mount)
      : file_(std::move(file)), threads_(&threads), mount_(mount) {}
  base::Fd file_;
  MountThreads* threads_;
  std::size_t mount_;
};

}  // namespace robustrun::checkpoint
