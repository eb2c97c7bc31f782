// System calls that have a function of their own since glibc 2.30.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

extern "C" __ssize_t getdents64(int fd, void* buffer, std::size_t length) noexcept {
  return ::syscall(SYS_getdents64, fd, buffer, length);
}

extern "C" __pid_t gettid() noexcept { return static_cast<__pid_t>(::syscall(SYS_gettid)); }
