#pragma once
// The lock of a home directory, held for every decision about which attempt may commit. It is an
// flock on the file `.lock`. The kernel releases it when the holder dies. The holder writes its
// process id and host into the file, so that another process that waits in vain can name the
// holder. Used by the thread that uses the home's MountThreads.

#include <chrono>
#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/disk/mount_threads.h"

namespace robustrun::checkpoint {

// How long to wait for the lock. Most holders only write small files. Store::claim() may hold the
// lock much longer: it reads back whole checkpoints that an earlier job left complete.
inline constexpr std::chrono::milliseconds kLockPatience{30 * 60'000};

class DirectoryLock {
 public:
  // Takes the lock of `home`. `threads` includes the home's mount and must outlive the lock.
  // kTimeout: the lock was held for all of `patience`; the text names the last holder. ETIMEDOUT:
  // the home does not answer.
  static base::Result<DirectoryLock> take(const std::string& home, MountThreads& threads,
                                          std::chrono::milliseconds patience);
  DirectoryLock(DirectoryLock&&) = default;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  // Releases the lock even if a child process has inherited the open file.
  ~DirectoryLock();

 private:
  DirectoryLock(base::Fd file, MountThreads& threads, std::size_t mount)
      : file_(std::move(file)), threads_(&threads), mount_(mount) {}
  base::Fd file_;
  MountThreads* threads_;
  std::size_t mount_;
};

}  // namespace robustrun::checkpoint
