#include "checkpoint/disk/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "checkpoint/format/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::Result;
using base::Status;
using std::chrono::milliseconds;

// Pause between two tries. Processes that save together hold the lock for a millisecond or two
// each.
constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{100};

std::string own_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || !is_control_word(name.data())) {
    return "localhost";
  }
  return name.data();
}

// On a full disk the lock works without the name.
void leave_name(int file) {
  const std::string line = control_line(fmt::format("held {} {}", ::getpid(), own_host()));
  const ssize_t written = ::pwrite(file, line.data(), line.size(), 0);
  const bool whole = written >= 0 && ::ftruncate(file, written) == 0;
  static_cast<void>(whole);
}

std::string last_holder(const std::string& path) {
  const auto words = read_control_line(path);
  if (!words || words->size() != 3 || words->front() != "held") {
    return "an unknown process";
  }
  return fmt::format("process {} on {}", base::printable((*words)[1]),
                     base::printable((*words)[2]));
}

// Returns nullopt if another process holds it.
Result<std::optional<base::Fd>> try_to_lock(const std::string& path) {
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return base::fail_errno("cannot open " + path, errno);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return base::fail_errno("cannot lock " + path, errno);
  }
  leave_name(file.get());
  return file;
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& home, MountThreads& threads,
                                          milliseconds patience) {
  const std::string path = home + "/.lock";
  const std::size_t mount = threads.mount_of(home);
  const base::SystemClock clock;
  const base::Nanos until = clock.now() + patience;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto file = RR_TRY(threads.call(mount, [path] { return try_to_lock(path); }));
    if (file) return DirectoryLock(*std::move(file), threads, mount);
    if (clock.now() >= until) break;
    static_cast<void>(::poll(nullptr, 0, static_cast<int>(pause.count())));
  }
  const auto holder =
      threads.call(mount, [path]() -> Result<std::string> { return last_holder(path); });
  return base::fail(
      Errc::kTimeout,
      fmt::format(
          "cannot lock {}: still held after {:g} s, last by {}; try again when that process "
          "is done, or end it if it hangs: that releases the lock",
          path, std::chrono::duration<double>(patience).count(),
          holder ? *holder : "an unknown process"));
}

DirectoryLock::~DirectoryLock() {
  if (!file_) return;
  (void)threads_->call(mount_, [file = std::move(file_)]() mutable -> Status {
    ::flock(file.get(), LOCK_UN);
    file = base::Fd();
    return {};
  });
}

}  // namespace robustrun::checkpoint
