#include "supervisor/run_dir/run_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/core/text.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

std::string own_words() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("pid {} on {}", ::getpid(), host.data());
}

std::string holder_of(int file) {
  std::array<char, kLockBytesMax> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return "an unknown process";
  return base::printable(base::trim(std::string_view(text.data(), static_cast<std::size_t>(size))));
}

// The lock of a process that was killed is held until the last of its threads is gone, which is a
// moment later than others see it dead.
bool lock_soon(int file) {
  for (int tried = 1; ::flock(file, LOCK_EX | LOCK_NB) != 0; ++tried) {
    if (errno != EWOULDBLOCK || tried == kLockTriesMax) return false;
    static_cast<void>(::poll(nullptr, 0, kLockPollMs));
  }
  return true;
}

}  // namespace

base::Result<RunLock> RunLock::take(const std::string& run_directory) {
  const std::string path = run_directory + "/lock";
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return base::fail_errno("cannot open " + path, errno);
  if (!lock_soon(file.get())) {
    if (errno == EWOULDBLOCK) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("the run has a supervisor: {}", holder_of(file.get())));
    }
    const int error = errno;
    auto failed = base::fail_errno("cannot lock " + path, error);
    failed.error().code = base::Errc::kUnavailable;
    return failed;
  }
  const std::string words = own_words() + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), words.data(), words.size(), 0) != static_cast<ssize_t>(words.size())) {
    return base::fail_errno("cannot write " + path, errno);
  }
  return RunLock(std::move(file));
}

}  // namespace robustrun::supervisor
