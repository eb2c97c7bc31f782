#include "agent/worker/shm_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "agent/node/folder.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// The kernel stamps files with a clock that lags behind ours by up to one tick.
constexpr std::chrono::milliseconds kTimestampLag{20};

base::Nanos changed_at(const struct stat& file) {
  return std::chrono::seconds(file.st_ctim.tv_sec) + base::Nanos(file.st_ctim.tv_nsec);
}

bool is_candidate(const struct stat& file, base::Nanos since) {
  return S_ISREG(file.st_mode) && file.st_nlink == 1 && file.st_uid == ::geteuid() &&
         (file.st_mode & (S_IRWXG | S_IRWXO)) == 0 && changed_at(file) + kTimestampLag >= since;
}

// The kernel grants a write lease only to the one user of a file. A process that opens the file
// later waits until we release the lease. The kernel then tells us by a signal: SIGIO, unless we
// choose one that is ignored by default.
bool take_alone(int fd) {
  return ::fcntl(fd, F_SETSIG, SIGURG) == 0 && ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

bool remove_if_nobodys(int folder, const char* name, base::Nanos since) {
  struct stat listed{};
  if (::fstatat(folder, name, &listed, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!is_candidate(listed, since)) return false;
  const base::Fd fd(
      ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || !take_alone(fd.get())) return false;
  // Under the lease, the name still refers to the file that we examined.
  struct stat held{};
  struct stat named{};
  return ::fstat(fd.get(), &held) == 0 && is_candidate(held, since) &&
         ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev && ::unlinkat(folder, name, 0) == 0;
}

}  // namespace

std::vector<std::string> sweep_shm(base::Nanos since, const std::string& directory) {
  std::vector<std::string> removed;
  const Folder folder(::opendir(directory.c_str()));
  if (!folder) return removed;  // no shared memory on this machine
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (remove_if_nobodys(::dirfd(folder.get()), name.c_str(), since)) removed.push_back(name);
  }
  std::ranges::sort(removed);
  return removed;
}

}  // namespace robustrun::agent
