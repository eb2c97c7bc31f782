#pragma once
// Held while it is decided who may commit: an flock on `.lock` in the home directory, which the
// kernel lets go when its holder dies. Waits for another holder, who only writes small files.

#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::checkpoint {

class DirectoryLock {
 public:
  static base::Result<DirectoryLock> take(const std::string& home);

 private:
  explicit DirectoryLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_;
};

}  // namespace robustrun::checkpoint
