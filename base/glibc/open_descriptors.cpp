// close_range(3) and posix_spawn_file_actions_addclosefrom_np(3), in glibc since 2.34; the kernel
// has close_range(2) since 5.9. Without them the open descriptors are read from /proc. Only
// system calls: close_range() is called between fork and exec.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

// Calls `visit(descriptor)` for each of this process from `first` to `last`; 0, or the cause of
// failure: that of the system, or the first one that `visit` returns.
template <class Visit>
int for_each_open(unsigned first, unsigned last, Visit visit) {
  const int folder = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  alignas(dirent64) char entries[4096];
  int cause = 0;
  for (long got = 0;
       cause == 0 && (got = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) != 0;) {
    if (got < 0) cause = errno;
    for (long at = 0; at < got && cause == 0;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      unsigned number = 0;
      for (const char* c = entry->d_name; *c >= '0' && *c <= '9'; ++c) {
        number = number * 10 + static_cast<unsigned>(*c - '0');
      }
      const bool is_number = entry->d_name[0] != '.';
      if (!is_number || number < first || number > last) continue;
      if (static_cast<int>(number) != folder) cause = visit(static_cast<int>(number));
    }
  }
  ::close(folder);
  return cause;
}

using AddCloseFrom = int(posix_spawn_file_actions_t*, int);

}  // namespace

extern "C" int close_range(unsigned first, unsigned last, int flags) noexcept {
  const long done = ::syscall(SYS_close_range, first, last, flags);
  if (done == 0 || errno != ENOSYS) return static_cast<int>(done);
  const int cause = for_each_open(first, last, [flags](int fd) {
    if ((flags & CLOSE_RANGE_CLOEXEC) != 0)
      return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno;
    ::close(fd);
    return 0;
  });
  if (cause != 0) errno = cause;
  return cause == 0 ? 0 : -1;
}

// Ours sees what is open when it is called, not when the child starts: what opens later must be
// CLOEXEC, as all descriptors of robustrun are.
extern "C" int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions,
                                                        int from) noexcept {
  static auto* const own = reinterpret_cast<AddCloseFrom*>(
      ::dlsym(RTLD_NEXT, "posix_spawn_file_actions_addclosefrom_np"));
  if (own != nullptr) return own(actions, from);
  return for_each_open(static_cast<unsigned>(from), ~0U, [actions](int fd) {
    return ::posix_spawn_file_actions_addclose(actions, fd);
  });
}
