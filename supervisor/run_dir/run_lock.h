#pragma once
// At most one supervisor per run: a lock on a file in its directory, which the kernel (or the
// server of a shared file system) releases when the holder dies.

#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::supervisor {

class RunLock {
 public:
  // kConflict, with the holder's name: the run has a supervisor that does not end within two
  // seconds. kUnavailable: the file system has no locks.
  static base::Result<RunLock> take(const std::string& run_directory);

 private:
  explicit RunLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_;
};

}  // namespace robustrun::supervisor
