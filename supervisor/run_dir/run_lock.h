#pragma once
// At most one supervisor per run: a lock on a file in its directory, which the kernel (or the
// server of a shared file system) takes back when its holder dies.

#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::supervisor {

class RunLock {
 public:
  // kConflict, with who holds it, when there is a supervisor, after waiting two seconds for its
  // end; kUnavailable when the file system knows no locks.
  static base::Result<RunLock> take(const std::string& run_directory);

 private:
  explicit RunLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_;
};

}  // namespace robustrun::supervisor
