#include "checkpoint/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace robustrun::checkpoint {

base::Result<DirectoryLock> DirectoryLock::take(const std::string& home) {
  const std::string path = home + "/.lock";
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return base::fail_errno("cannot open " + path, errno);
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return base::fail_errno("cannot lock " + path, errno);
  }
  return DirectoryLock(std::move(file));
}

}  // namespace robustrun::checkpoint
