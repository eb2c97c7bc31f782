#include "base/io/child_support.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/fd.h"

namespace robustrun::base {
namespace {

constexpr int kPidfd = 3;  // P_PIDFD, which glibc before 2.31 does not name

}  // namespace

bool has_pidfd() {
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self) return false;
  // We are no child of ours; a kernel that does not know P_PIDFD finds the arguments invalid.
  siginfo_t info{};
  return ::syscall(SYS_waitid, kPidfd, self.get(), &info, WEXITED | WNOHANG, nullptr) == 0 ||
         errno == ECHILD;
}

}  // namespace robustrun::base
